// Imports name the compiled file (`./x.js`, `#common/x.js`); the tests run on the sources.
const { existsSync } = require('node:fs')
const { join } = require('node:path')

const root = join(__dirname, '../..')
const maps = {
  '#common/': 'libs/common/src/',
  '#machine/': 'libs/machine/src/',
  '#sdk/': 'libs/sdk/src/',
  '#apps/': 'apps/',
}

module.exports = (request, options) => options.defaultResolver(sourceOf(request, options.basedir), options)

function sourceOf(request, from) {
  const alias = Object.keys(maps).find((prefix) => request.startsWith(prefix))
  const inProject = from.startsWith(root) && !from.includes('/node_modules/')
  if (!alias && !(inProject && request.startsWith('.'))) return request
  const path = alias ? join(root, maps[alias], request.slice(alias.length)) : join(from, request)
  const source = path.replace(/\.js$/, '.ts')
  return existsSync(source) ? source : path
}
