// Writes everything that the contract decides: OpenAPI, the SDK's types, routes and methods, the error reference, the
// pictures of the state machines. What it writes is committed. Usage: npm run gen [-- --check]; --check writes nothing and
// fails when a file differs from what the contract says.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './files.mjs'
import { cliGates } from './gen/cli-gates.mjs'
import { errorReference, exitCodes, sdkErrorCatalogue } from './gen/errors.mjs'
import { loadSource } from './gen/load-source.mjs'
import { header } from './gen/names.mjs'
import { nodeOperationsFile } from './gen/node-operations.mjs'
import { openApiDocument } from './gen/openapi.mjs'
import { collectSchemas } from './gen/schemas.mjs'
import { appClient } from './gen/sdk-app-client.mjs'
import { namespaceTree, resourceClasses } from './gen/sdk-resources.mjs'
import { routeTable } from './gen/sdk-routes.mjs'
import { typesModule } from './gen/sdk-types.mjs'
import { machineFiles } from './gen/states.mjs'

const contract = await loadSource('libs/common/src/contract/index.ts')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const schemas = collectSchemas(contract)

const files = {
  'docs/openapi.json': asJson(openApiDocument({ contract, schemas, version, listener: 'owner' })),
  'docs/openapi.app.json': asJson(openApiDocument({ contract, schemas, version, listener: 'app' })),
  'docs/errors.md': errorReference(contract),
  'libs/sdk/src/generated/types.ts': typesModule(schemas),
  'libs/sdk/src/generated/routes.ts': routeTable(contract),
  'libs/sdk/src/generated/resources.ts': resourceClasses(contract, schemas),
  'libs/sdk/src/generated/namespaces.ts': namespaceTree(contract),
  'libs/sdk/src/generated/app-client.ts': appClient(contract),
  'libs/sdk/src/generated/error-codes.ts': sdkErrorCatalogue(contract),
  'libs/sdk/src/generated/version.ts': `${header}export const version = '${version}'\n`,
  'apps/cli/src/generated/exit-codes.ts': exitCodes(contract),
  'apps/cli/src/generated/gates.ts': cliGates(contract),
  ...(await machineFiles()),
  ...(await nodeOperationsFile(contract)),
}
const owned = ['libs/sdk/src/generated', 'apps/cli/src/generated', 'docs/states']

const differing = Object.entries(files).filter(([path, text]) => read(path) !== text)
const stray = owned.flatMap(filesIn).filter((path) => !(path in files))

if (process.argv.includes('--check')) {
  for (const [path] of differing) console.error(`gen: ${path} differs from the contract`)
  for (const path of stray) console.error(`gen: ${path} is not made by the generator any more`)
  if (differing.length + stray.length) console.error('gen: run `npm run gen` and commit what it wrote')
  process.exit(differing.length + stray.length ? 1 : 0)
}
for (const [path, text] of differing) {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
  console.log(`gen: wrote ${path}`)
}
for (const path of stray) rmSync(join(root, path))
console.log(`gen: ${Object.keys(files).length} files, ${differing.length + stray.length} changed`)

function read(path) {
  return existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined
}

function filesIn(folder) {
  return existsSync(join(root, folder)) ? readdirSync(join(root, folder)).map((name) => `${folder}/${name}`) : []
}

function asJson(document) {
  return `${JSON.stringify(document, null, 2)}\n`
}
