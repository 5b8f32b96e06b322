import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { getContainerRuntimeClient } from 'testcontainers'
import { prepareTestcontainers } from './container-engine.js'
import { waitFor } from './wait-for.js'

/** The process behind RunKeeper: reads what there is to clear away until its input ends, then does it. */
const entries: { label?: string; pid?: number; directory?: string }[] = []

// The end of the terminal's group is not ours: the input closes when the run is over.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
createInterface({ input: process.stdin })
  .on('line', (line) => entries.push(JSON.parse(line)))
  .on('close', () => void clear())

async function clear(): Promise<void> {
  const outcomes = await Promise.allSettled(
    entries.map(async ({ label, pid, directory }) => {
      if (label) await removeContainers(label)
      if (pid) await endProcess(pid)
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
  const pids = files.map((name) => Number.parseInt(readFileSync(join(run, name), 'utf8'), 10))
  await Promise.all(pids.filter((pid) => pid > 1).map(endProcess))
  rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}

async function endProcess(pid: number): Promise<void> {
  if (!signal(pid, 'SIGQUIT')) return
  const isGone = () => !signal(pid, 0)
  await waitFor(isGone, { timeout: 3000 }).catch(() => signal(pid, 'SIGKILL'))
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
