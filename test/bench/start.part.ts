import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { projectRoot } from '#apps/daemon/src/project-root.js'
import { waitFor } from '#common/testing/wait-for.js'
import { TestDaemon } from '../support/daemon.js'
import type { Part } from './bench.js'
import { memoryOf, processesOf } from './process.meter.js'
import { most, type Row } from './row.js'
import { spreadOf } from './stats.js'

/** `npm start` from the keystroke to "ready", on an empty directory and on one with data, and what it then occupies. */
export const start: Part = async ({ options }) => {
  const first: number[] = []
  const later: number[] = []
  const memory: number[] = []
  for (let round = 0; round < (options.quick ? 1 : 3); round += 1) {
    const daemon = await TestDaemon.prepare()
    first.push(await served(daemon, () => Promise.resolve()))
    later.push(await served(daemon, async () => void memory.push(await idleMemory(daemon))))
    await daemon.stop()
  }
  const row = (name: string, unit: Row['unit'], values: number[], target?: Row['target']): Row => ({
    group: 'start',
    name,
    unit,
    value: spreadOf(values),
    ...(target && { target }),
  })
  return [
    row('npm start, first, to ready', 'ms', first, most(4000)),
    row('npm start, with data, to ready', 'ms', later, most(4000)),
    row('idle memory of services, host and a warm broker', 'MB', memory, most(250)),
  ]
}

/** Starts, does `then`, and stops with Ctrl-C. Answers ms until it was ready. */
const served = async (daemon: TestDaemon, then: () => Promise<void>): Promise<number> => {
  const began = performance.now()
  const child = spawn('npm', ['start'], {
    cwd: projectRoot,
    env: daemon.env,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const gone = once(child, 'exit')
  let took: number | undefined
  for await (const line of createInterface(child.stdout)) {
    if (!line.includes(' is ready: ')) continue
    took = performance.now() - began
    await then()
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT')
  }
  await gone
  if (took === undefined) throw new Error('npm start ended before it was ready')
  return took
}

const idleMemory = async (daemon: TestDaemon): Promise<number> => {
  await waitFor(() => processesOf(daemon).brokers.length > 0, { what: 'a warm broker' })
  await daemon.client().system.status()
  const { daemon: services, host, brokers } = processesOf(daemon)
  return memoryOf([...services, ...host, ...brokers].map(({ pid }) => pid))
}
