import type { NodeStatus } from '#common/contract/node.schema.js'
import { backoff } from '#common/kernel/clock.js'

/** What the reconciler knows of one node, from its row and from what the host last said. Times in ms since the epoch. */
export interface Situation {
  readonly status: NodeStatus
  readonly generation: number
  readonly brokerState: 'launching' | 'bound' | 'stopping' | null
  /** Ms since a host took over the launch of this generation; null when no host has yet. */
  readonly launchedFor: number | null
  /** Not before this time is it launched; a back-off, or a provider's own delay. */
  readonly notBefore: number | null
  /** Whether a fault holds it: whoever looks after that launches it. */
  readonly held: boolean
  /** When a process of this node was last lost, oldest first, within the window. */
  readonly losses: readonly number[]
  /**
   * What the host says of this generation: `lost_with_host` when the host itself was restarted and its processes with
   * it; `unknown` when it hasn't been heard since the launch.
   */
  readonly hosted: 'yes' | 'no' | 'lost_with_host' | 'unknown'
}

export interface LaunchLimits {
  readonly bootGraceMs: number
  /** Launches at most within the window. */
  readonly launchBudget: number
  readonly launchWindowMs: number
}

/**
 * - `launch`: hand this generation to the host.
 * - `relaunch`: its process is gone while work is owed: a new generation, after a back-off.
 * - `give_up`: end as dead, for the reason named.
 * - `leave`: all is as it should be, or nothing certain is known.
 */
export type Step =
  | { readonly do: 'launch' }
  | { readonly do: 'relaunch'; readonly losses: readonly number[]; readonly delayMs: number }
  | { readonly do: 'give_up'; readonly why: 'never_booted' | 'crash_loop' }
  | { readonly do: 'leave' }

const leave: Step = { do: 'leave' }
const backoffBaseMs = 500
const backoffCapMs = 60_000

const recentLosses = (losses: readonly number[], now: number, windowMs: number): number[] =>
  losses.filter((at) => at > now - windowMs)

const again = (losses: readonly number[], random: () => number): Step => ({
  do: 'relaunch',
  losses,
  delayMs: losses.length <= 1 ? 0 : Math.round(backoff(losses.length, backoffBaseMs, backoffCapMs, random)),
})

/** The step after a process was lost while its node owed work: the first relaunch is at once, later ones wait longer. */
export const afterLoss = (
  losses: readonly number[],
  now: number,
  limits: LaunchLimits,
  random: () => number = Math.random,
): Step => {
  const recent = [...recentLosses(losses, now, limits.launchWindowMs), now]
  return recent.length >= limits.launchBudget ? { do: 'give_up', why: 'crash_loop' } : again(recent, random)
}

/** As `afterLoss`, when all processes of a host went with it: that is not the node's doing and costs none of its budget. */
const afterHostLoss = (losses: readonly number[], now: number, limits: LaunchLimits, random: () => number): Step =>
  again(recentLosses(losses, now, limits.launchWindowMs), random)

/** Compares what a node should be with what is. "Cannot tell" is never taken for "gone". */
export const nextStep = (
  now: number,
  node: Situation,
  limits: LaunchLimits,
  random: () => number = Math.random,
): Step => {
  if (node.status !== 'active' || node.brokerState === 'stopping' || node.held) return leave
  if (node.notBefore !== null && node.notBefore > now) return leave
  if (node.brokerState === null) return { do: 'launch' }
  if (node.brokerState === 'launching' && node.launchedFor === null) return { do: 'launch' }
  if (node.hosted === 'no') return afterLoss(node.losses, now, limits, random)
  if (node.hosted === 'lost_with_host') return afterHostLoss(node.losses, now, limits, random)
  const overdue = node.launchedFor !== null && node.launchedFor > limits.bootGraceMs
  if (node.brokerState === 'launching' && node.hosted === 'yes' && overdue)
    return { do: 'give_up', why: 'never_booted' }
  return leave
}
