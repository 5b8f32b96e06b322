import { waitFor } from '#common/testing/wait-for.js'
import type { TestDaemon } from '../support/daemon.js'
import type { ProcessName } from '../support/daemon-processes.js'
import type { TcpProxy } from '../support/tcp-proxy.js'
import { type CutTarget, cut, cutTargets } from './cut.js'
import type { Random } from './random.js'

const targets = ['broker', 'host', 'daemon', 'nats', 'redis', 'postgres'] as const

type Blow = { way: 'kill' | 'pause'; target: 'broker' | ProcessName } | { way: 'cut'; target: CutTarget }

const all: readonly Blow[] = [
  ...targets.flatMap((target): Blow[] => [
    { target, way: 'kill' },
    { target, way: 'pause' },
  ]),
  ...cutTargets.map((target): Blow => ({ target, way: 'cut' })),
]

export type Fault = Blow & {
  /** ms after the load began, or after the fault before it. */
  after: number
  /** ms, for a pause or a cut. */
  length: number
  /** Which of the brokers that live then, from 0 up to 1. */
  which: number
}

/**
 * The faults of a round. Each cycle of rounds has every target killed, paused and its connections cut first, in an order of
 * its own; in every third round another fault hits what recovers from the first.
 */
export const faultsOf = (round: number, orderOf: (cycle: number) => Random, random: Random): Fault[] => {
  const cycle = Math.floor((round - 1) / all.length)
  const first = orderOf(cycle).shuffled(all)[(round - 1) % all.length] as Blow
  const chosen = random.between(1, 3) === 1 ? [first, random.pick(all)] : [first]
  return chosen.map((fault) => ({
    ...fault,
    after: random.between(0, 3000),
    length: random.between(500, 5000),
    which: random.next(),
  }))
}

export const textOfFault = ({ target, way, after, length }: Fault): string => {
  if (way === 'kill') return `${target} killed after ${after} ms`
  return `${target} ${way === 'cut' ? 'cut off' : 'paused'} for ${length} ms after ${after} ms`
}

/** Does it at its moment, and brings back what nobody else does: the daemon restarts its servers and its host itself. */
export const carryOut = async (daemon: TestDaemon, edge: TcpProxy, fault: Fault): Promise<void> => {
  const { processes } = daemon
  await passed(fault.after)
  if (fault.way === 'cut') {
    const mend = await cut(daemon, edge, fault.target)
    await passed(fault.length)
    await mend()
    return
  }
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
