// Proves that the committed OpenAPI document is one that others can use: a public generator makes a client of it, in
// dist/openapi-client, and the client type-checks strictly. Usage: npm run check:openapi.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './files.mjs'

const out = join(root, 'dist/openapi-client')
const compilerOptions = {
  noEmit: true,
  strict: true,
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2023', 'dom', 'dom.iterable'],
  types: [],
}

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
for (const [listener, file] of Object.entries({ owner: 'openapi.json', app: 'openapi.app.json' })) {
  const args = [
    '--input',
    `./docs/${file}`,
    '--output',
    join(out, listener),
    '--client',
    '@hey-api/client-fetch',
    '--silent',
  ]
  execFileSync('openapi-ts', args, { cwd: root, stdio: 'inherit' })
}
writeFileSync(join(out, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['owner', 'app'] }))
execFileSync('tsc', ['-p', out], { cwd: root, stdio: 'inherit' })
console.log('check:openapi: a client of each listener is generated and type-checks')
