// Makes Prisma's client from prisma/schema.prisma, offline. Does nothing when neither the schema nor Prisma changed since.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const output = join(root, 'libs/common/src/kernel/database/generated')
const stamp = join(output, '.hash')
const inputs = ['prisma/schema.prisma', 'node_modules/prisma/package.json', 'scripts/prisma-generate.mjs']
const hash = createHash('sha256')
for (const path of inputs) hash.update(readFileSync(join(root, path)))
const wanted = hash.digest('hex')

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  const cli = join(root, 'node_modules/prisma/build/index.js')
  try {
    execFileSync(process.execPath, [cli, 'generate'], {
      cwd: root,
      stdio: 'pipe',
      env: {
        ...process.env,
        PRISMA_SCHEMA_ENGINE_BINARY: join(root, 'scripts/prisma-schema-engine-stub.mjs'),
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
        CHECKPOINT_DISABLE: '1',
      },
    })
  } catch (error) {
    console.error(`${error.stdout ?? ''}${error.stderr ?? error.message}`)
    process.exit(1)
  }
  writeFileSync(stamp, wanted)
}
