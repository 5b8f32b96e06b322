// Builds the package @svc/sdk into dist/sdk/, ready to be published: an ES module, a CommonJS module, types for both.
// Its types are compiled without Node's, so that what a browser lacks can't slip in. Usage: npm run build:sdk.
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { root } from './files.mjs'

const out = join(root, 'dist/sdk')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })

execFileSync('tsc', ['-p', 'libs/sdk/tsconfig.json', '--outDir', join(out, 'esm')], { cwd: root, stdio: 'inherit' })
// CommonJS resolves the same declarations under its own rules: a second copy, in a folder of that type.
cpSync(join(out, 'esm'), join(out, 'cjs'), { recursive: true })
writeFileSync(join(out, 'cjs/package.json'), '{ "type": "commonjs" }\n')

for (const format of ['esm', 'cjs']) {
  await build({
    entryPoints: [join(root, 'libs/sdk/src/index.ts')],
    outfile: join(out, format, 'index.js'),
    bundle: true,
    platform: 'neutral',
    format,
    target: 'es2022',
    keepNames: true,
    logLevel: 'warning',
  })
}
const manifest = JSON.parse(readFileSync(join(root, 'libs/sdk/package.json'), 'utf8'))
writeFileSync(join(out, 'package.json'), `${JSON.stringify({ ...manifest, version }, null, 2)}\n`)
copyFileSync(join(root, 'libs/sdk/README.md'), join(out, 'README.md'))
console.log(`build:sdk: @svc/sdk ${version} in dist/sdk`)
