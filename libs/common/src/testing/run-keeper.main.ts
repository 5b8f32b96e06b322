import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { getContainerRuntimeClient } from 'testcontainers'
import { isAlive, type ProcessIdentity, parseIdentity, signal } from '../kernel/servers/process-identity.js'
import { prepareTestcontainers } from './container-engine.js'
import { waitFor } from './wait-for.js'

/** The process behind RunKeeper: reads what there is to clear away until its input ends, then does it. */
const entries: { label?: string; identity?: ProcessIdentity; directory?: string }[] = []

// The end of the terminal's group is not ours: the input closes when the run is over.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
createInterface({ input: process.stdin })
  .on('line', (line) => entries.push(JSON.parse(line)))
  .on('close', () => void clear())

async function clear(): Promise<void> {
  const outcomes = await Promise.allSettled(
    entries.map(async ({ label, identity, directory }) => {
      if (label) await removeContainers(label)
      if (identity) await endProcess(identity)
      if (directory) await removeDataDirectory(directory)
    }),
  )
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue
    process.stderr.write(`test servers: left behind: ${outcome.reason}\n`)
    process.exitCode = 1
  }
}

async function removeContainers(label: string): Promise<void> {
  prepareTestcontainers()
  const { container } = await getContainerRuntimeClient()
  const found = await container.dockerode.listContainers({ all: true, filters: { label: [label] } })
  await Promise.all(found.map(({ Id }) => container.getById(Id).remove({ force: true, v: true })))
}

async function removeDataDirectory(path: string): Promise<void> {
  const run = join(path, 'run')
  const files = existsSync(run) ? readdirSync(run).filter((name) => name.endsWith('.pid')) : []
  const texts = files.map((name) => readFileSync(join(run, name), 'utf8'))
  await Promise.all(texts.flatMap((text) => parseIdentity(text) ?? []).map(endProcess))
  rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}

/** Postgres puts its shared memory away on SIGQUIT; the others need no farewell. */
async function endProcess(identity: ProcessIdentity): Promise<void> {
  if (!signal(identity, 'SIGQUIT')) return
  const isGone = () => !isAlive(identity)
  await waitFor(isGone, { timeout: 500 }).catch(() => signal(identity, 'SIGKILL'))
  await waitFor(isGone, { what: `the end of process ${identity.pid}` })
}
