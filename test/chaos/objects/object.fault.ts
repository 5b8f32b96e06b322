import { systemClock } from '#common/kernel/clock.js'
import type { TestDaemon } from '../../support/daemon.js'
import { reached } from '../moment.js'
import type { Random } from '../random.js'
import { loadLength } from './object.plan.js'

const killed = ['objects', 'gateway', 'nats', 'postgres', 'lifecycle'] as const

type ObjectBlow =
  | { readonly way: 'kill'; readonly target: (typeof killed)[number] }
  /** SIGSTOP: what it holds times out meanwhile, and it goes on as if nothing were. */
  | { readonly way: 'pause'; readonly target: 'objects' }

export type ObjectFault = ObjectBlow & {
  /** ms after the beginning of the round. */
  readonly at: number
  /** ms, of a pause. */
  readonly length: number
}

const blows: readonly ObjectBlow[] = [
  ...killed.map((target): ObjectBlow => ({ way: 'kill', target })),
  { way: 'kill', target: 'objects' },
  { way: 'pause', target: 'objects' },
]

/**
 * The faults of a round, while its events are published. Each cycle of rounds has every blow first once, in an order of its
 * own; in every second round another one hits what recovers from the first.
 */
export const objectFaultsOf = (round: number, orderOf: (cycle: number) => Random, random: Random): ObjectFault[] => {
  const cycle = Math.floor((round - 1) / blows.length)
  const first = orderOf(cycle).shuffled(blows)[(round - 1) % blows.length] as ObjectBlow
  const timed = (blow: ObjectBlow, at: number): ObjectFault => ({ ...blow, at, length: random.between(300, 6000) })
  const at = random.between(100, loadLength)
  return round % 2 ? [timed(first, at)] : [timed(first, at), timed(random.pick(blows), at + random.between(0, 1500))]
}

export const textOfObjectFault = ({ way, target, at, length }: ObjectFault): string =>
  way === 'kill' ? `${target} killed after ${at} ms` : `${target} paused for ${length} ms after ${at} ms`

/** Does it at its moment. What is killed is started again by the daemon. @param began ms since the epoch */
export const carryOutObjectFault = async (
  { processes }: TestDaemon,
  began: number,
  { way, target, at, length }: ObjectFault,
): Promise<void> => {
  await reached(began + at)
  if (way === 'kill') {
    processes.kill(target)
    return
  }
  const resume = processes.pause(target)
  await reached(systemClock.now() + length)
  resume()
}
