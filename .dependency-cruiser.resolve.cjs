// package.json's import map leads into dist/; the boundaries are checked on the sources.
const { join } = require('node:path')

module.exports = {
  resolve: {
    alias: {
      '#common': join(__dirname, 'libs/common/src'),
      '#machine': join(__dirname, 'libs/machine/src'),
      '#sdk': join(__dirname, 'libs/sdk/src'),
      '#apps': join(__dirname, 'apps'),
    },
    extensionAlias: { '.js': ['.ts', '.js'] },
  },
}
