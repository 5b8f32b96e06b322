import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { systemClock } from '#common/kernel/clock.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { TestDaemon } from '../../support/daemon.js'
import { textOf } from '../../support/daemon-processes.js'
import { reached } from '../moment.js'
import type { Random } from '../random.js'
import type { CronTimers } from './cron.timers.js'

const killed = ['scheduler', 'lifecycle', 'redis', 'postgres', 'nats', 'host'] as const

/**
 * `kill`: SIGKILL. `flush`: Redis loses all. `overlap`: the scheduler stands still while another one does its work, and goes
 * on beside it. `away`: it stands still so long that slots are missed.
 */
export type CronBlow =
  | { readonly way: 'kill'; readonly target: (typeof killed)[number] }
  | { readonly way: 'flush' | 'overlap' | 'away' }

export type CronFault = CronBlow & {
  /** ms after the beginning of the round. */
  readonly at: number
  /** ms, of what stands still. */
  readonly length: number
}

/** In so many rounds one in which slots are missed. */
const awayEvery = 25

const kills: readonly CronBlow[] = killed.map((target) => ({ way: 'kill', target }))
const others: readonly CronBlow[] = [{ way: 'flush' }, { way: 'overlap' }]

/**
 * The faults of a round around the slots of its schedules. As many rounds as there is to kill kill each once, in an order
 * of their own; every second round has another fault, which hits what recovers from the first.
 *
 * @param slots ms after the beginning of the round
 */
export const cronFaultsOf = (
  round: number,
  slots: readonly number[],
  orderOf: (cycle: number) => Random,
  random: Random,
): CronFault[] => {
  const cycle = Math.floor((round - 1) / kills.length)
  const first = orderOf(cycle).shuffled(kills)[(round - 1) % kills.length] as CronBlow
  // most while it is begun, which takes milliseconds
  const beside = random.between(1, 3) === 1 ? random.between(-500, 500) : random.between(-20, 200)
  const at = Math.max(0, random.pick(slots) + beside)
  const blows = [{ ...first, at, length: 0 }]
  // by then all is armed
  if (round % awayEvery === 0) return [...blows, { way: 'away', at: 1000, length: random.between(35_000, 65_000) }]
  if (round % 2) return blows
  const second = round % 4 ? random.pick(others) : random.pick(kills)
  return [...blows, { ...second, at: at + random.between(0, 1500), length: random.between(500, 6000) }]
}

export const textOfCronFault = (fault: CronFault): string => {
  const moment = `${fault.at} ms after the beginning`
  switch (fault.way) {
    case 'kill':
      return `${fault.target} killed ${moment}`
    case 'flush':
      return `Redis emptied ${moment}`
    case 'overlap':
      return `scheduler paused for ${fault.length} ms ${moment}, beside another one`
    case 'away':
      return `scheduler paused for ${fault.length} ms ${moment}`
  }
}

/** Does it at its moment. What is killed is started again by the daemon. */
export const carryOutCronFault = async (
  daemon: TestDaemon,
  timers: CronTimers,
  began: number,
  fault: CronFault,
): Promise<void> => {
  await reached(began + fault.at)
  switch (fault.way) {
    case 'kill':
      daemon.processes.kill(fault.target)
      return
    case 'flush':
      await timers.flush()
      return
    case 'away':
      return pause(daemon, fault.length)
    case 'overlap':
      return overlap(daemon, fault.length)
  }
}

const pause = async ({ processes }: TestDaemon, length: number): Promise<void> => {
  const resume = processes.pause('scheduler')
  await reached(systemClock.now() + length)
  resume()
}

/** The other one is drained once both have been at work for as long as the first stood still. */
const overlap = async (daemon: TestDaemon, length: number): Promise<void> => {
  const other = await another(daemon)
  try {
    await pause(daemon, length)
    await reached(systemClock.now() + length)
  } finally {
    await other.end()
  }
}

/** A second process of the scheduler with the settings of the first, as an operator starts one. */
const another = async ({ processes }: TestDaemon): Promise<{ end(): Promise<void> }> => {
  const { env, args } = await waitFor(
    () => {
      const { pid } = processes.find('scheduler') ?? {}
      const environment = pid === undefined ? '' : textOf(`/proc/${pid}/environ`)
      return environment !== '' && { env: environmentOf(environment), args: textOf(`/proc/${pid}/cmdline`).split('\0') }
    },
    { what: 'a scheduler' },
  )
  const [command = process.execPath, ...rest] = args.slice(0, -1)
  const child = spawn(command, rest, { cwd: '/', stdio: 'ignore', env })
  const gone = once(child, 'exit')
  return {
    end: async () => {
      child.kill('SIGTERM')
      await gone
    },
  }
}

/** Without what is the first one's own: its health's address, and the mark by which it is found. */
const environmentOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split('\0')
      .flatMap((entry) => {
        const at = entry.indexOf('=')
        return at > 0 ? [[entry.slice(0, at), entry.slice(at + 1)] as const] : []
      })
      .filter(([name]) => name !== 'SVC_HEALTH_LISTEN' && name !== 'SUPERVISED_AS'),
  )
