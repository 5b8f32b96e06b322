import { waitFor } from '#common/testing/wait-for.js'
import type { TestDaemon } from '../support/daemon.js'
import type { ProcessName } from '../support/daemon-processes.js'
import type { Random } from './random.js'

const targets = ['broker', 'host', 'daemon', 'nats', 'redis', 'postgres'] as const
const ways = ['kill', 'pause'] as const
const all = targets.flatMap((target) => ways.map((way) => ({ target, way })))

export interface Fault {
  target: 'broker' | ProcessName
  way: (typeof ways)[number]
  /** ms after the load began, or after the fault before it. */
  after: number
  /** ms, for a pause. */
  length: number
  /** Which of the brokers that live then, from 0 up to 1. */
  which: number
}

/**
 * The faults of a round. Each dozen of rounds has every target both killed and paused first, in an order of its own; in
 * every third round another fault hits what recovers from the first.
 */
export const faultsOf = (round: number, orderOf: (dozen: number) => Random, random: Random): Fault[] => {
  const dozen = Math.floor((round - 1) / all.length)
  const first = orderOf(dozen).shuffled(all)[(round - 1) % all.length] as (typeof all)[number]
  const chosen = random.between(1, 3) === 1 ? [first, random.pick(all)] : [first]
  return chosen.map((fault) => ({
    ...fault,
    after: random.between(0, 1500),
    length: random.between(500, 5000),
    which: random.next(),
  }))
}

export const textOfFault = ({ target, way, after, length }: Fault): string =>
  way === 'kill' ? `${target} killed after ${after} ms` : `${target} paused for ${length} ms after ${after} ms`

/** Does it at its moment, and brings back what nobody else does: the daemon restarts its servers and its host itself. */
export const carryOut = async (daemon: TestDaemon, fault: Fault): Promise<void> => {
  const { processes } = daemon
  await passed(fault.after)
  const victim = fault.target === 'broker' ? await brokerOf(daemon, fault.which) : fault.target
  if (victim === undefined) return
  if (fault.way === 'pause') {
    const resume = processes.pause(victim)
    await passed(fault.length)
    resume()
    return
  }
  processes.kill(victim)
  if (fault.target === 'daemon') await daemon.startAgain()
}

/** One that hosts a node, when there is one. */
const brokerOf = async (daemon: TestDaemon, which: number) => {
  const hosting = await daemon
    .rows<{ pid: number }>(
      "SELECT broker_pid AS pid FROM canvas.nodes WHERE broker_state = 'bound' AND status = 'active'",
    )
    .catch(() => [])
  const brokers = daemon.processes.brokers()
  const busy = brokers.filter(({ pid }) => hosting.some((node) => node.pid === pid))
  const choice = busy.length ? busy : brokers
  return choice[Math.floor(which * choice.length)]
}

const passed = (ms: number): Promise<boolean> => {
  const until = performance.now() + ms
  return waitFor(() => performance.now() >= until, { timeout: ms + 5000, what: 'the moment of the fault' })
}
