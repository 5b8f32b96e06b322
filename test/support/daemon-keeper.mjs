// Ends a test's daemon with all that belongs to it and removes its directories, as soon as its input closes: by an
// orderly end of the suite, Ctrl-C, or SIGKILL of the test run. Usage: daemon-keeper.mjs <data directory> [directory …]
import { rmSync } from 'node:fs'
import { openDataDirectory } from '#common/kernel/servers/data-directory.js'
import { lockHolder } from '#common/kernel/servers/data-lock.js'
import { processesOf } from '#common/kernel/servers/directory-processes.js'
import { signal } from '#common/kernel/servers/process-identity.js'
import { waitFor } from '#common/testing/wait-for.js'

const [dataDir, ...others] = process.argv.slice(2)
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => undefined)
process.stdin.resume().on('close', () => void clear())

async function clear() {
  const data = openDataDirectory(dataDir)
  // The daemon first: it would start again what is ended beside it. A stopped process takes SIGKILL too.
  await waitFor(
    () => {
      const left = [lockHolder(data) ?? [], processesOf(data)].flat()
      for (const identity of left) signal(identity, 'SIGKILL')
      return left.length === 0
    },
    { timeout: 10_000, what: `the end of all processes of ${dataDir}` },
  )
  for (const directory of [dataDir, ...others]) {
    rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
}
