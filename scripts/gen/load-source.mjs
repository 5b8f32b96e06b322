import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { root } from '../files.mjs'

/** Our libraries by their import names, from their sources, so that nothing has to be built before. */
const sources = {
  name: 'sources',
  setup({ onResolve }) {
    onResolve({ filter: /^#(common|machine|sdk)\// }, ({ path }) => {
      const [, library, rest] = /^#(\w+)\/(.*)$/.exec(path)
      return { path: join(root, 'libs', library, 'src', rest.replace(/\.js$/, '.ts')) }
    })
  },
}

/** Compiles one TypeScript source, with all of ours that it imports, and loads it. */
export async function loadSource(path) {
  const outfile = join(root, 'dist/.gen', `${path.replaceAll('/', '.').replace(/\.ts$/, '')}.mjs`)
  await build({
    entryPoints: [join(root, path)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    packages: 'external',
    plugins: [sources],
  })
  return import(pathToFileURL(outfile))
}
