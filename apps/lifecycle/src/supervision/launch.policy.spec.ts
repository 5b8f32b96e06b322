import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeStatuses } from '#common/contract/node.schema.js'
import { afterLoss, type LaunchLimits, nextStep, type Situation } from './launch.policy.js'

const limits: LaunchLimits = { bootGraceMs: 20_000, launchBudget: 5, launchWindowMs: 600_000 }
const now = 1_000_000_000

const situation = (more: Partial<Situation> = {}): Situation => ({
  status: 'active',
  generation: 1,
  brokerState: 'bound',
  launchedFor: null,
  notBefore: null,
  held: false,
  losses: [],
  hosted: 'yes',
  ...more,
})

describe('the next step', () => {
  const cases: readonly (readonly [string, Partial<Situation>, string])[] = [
    ['leaves a node that is hosted', {}, 'leave'],
    ['launches one that no host took over yet', { brokerState: 'launching', hosted: 'unknown' }, 'launch'],
    ['launches one that is owed a process and has none', { brokerState: null, hosted: 'unknown' }, 'launch'],
    ['waits for a back-off', { brokerState: 'launching', notBefore: now + 1 }, 'leave'],
    ['launches when the back-off is over', { brokerState: 'launching', notBefore: now }, 'launch'],
    ['leaves what a fault holds', { brokerState: 'launching', hosted: 'unknown', held: true }, 'leave'],
    ['relaunches what the host does not host', { hosted: 'no' }, 'relaunch'],
    ['relaunches what was lost with its host', { hosted: 'lost_with_host' }, 'relaunch'],
    ['leaves what the host says nothing of', { hosted: 'unknown' }, 'leave'],
    ['waits for one that starts', { brokerState: 'launching', launchedFor: 20_000 }, 'leave'],
    ['gives up one that never bound', { brokerState: 'launching', launchedFor: 20_001 }, 'give_up'],
    [
      'leaves one that never bound on a silent host',
      { brokerState: 'launching', launchedFor: 1e9, hosted: 'unknown' },
      'leave',
    ],
    [
      'relaunches one that was lost before it bound',
      { brokerState: 'launching', launchedFor: 1, hosted: 'no' },
      'relaunch',
    ],
    ['leaves one whose process is being stopped', { brokerState: 'stopping', hosted: 'no' }, 'leave'],
  ]
  it.each(cases)('%s', (_title, more, step) => {
    expect(nextStep(now, situation(more), limits).do).toBe(step)
  })

  const anySituation = fc.record<Situation>({
    status: fc.constantFrom(...nodeStatuses),
    generation: fc.integer({ min: 1, max: 50 }),
    brokerState: fc.constantFrom('launching', 'bound', 'stopping', null),
    launchedFor: fc.option(fc.integer({ min: 0, max: 100_000 })),
    notBefore: fc.option(fc.integer({ min: now - 1000, max: now + 1000 })),
    held: fc.boolean(),
    losses: fc.array(fc.integer({ min: now - 1_200_000, max: now }), { maxLength: 12 }),
    hosted: fc.constantFrom('yes', 'no', 'lost_with_host', 'unknown'),
  })
  const always = (holds: (node: Situation, step: ReturnType<typeof nextStep>) => boolean | undefined): void =>
    fc.assert(fc.property(anySituation, (node) => holds(node, nextStep(now, node, limits)) !== false))
  const recent = (node: Situation): number => node.losses.filter((at) => at > now - limits.launchWindowMs).length

  it('touches no node that rests or has ended', () => {
    always((node, step) => node.status === 'active' || step.do === 'leave')
  })
  it('never starts a second process beside one that is hosted: at most it hands over the same generation again', () => {
    always((node, step) => node.hosted !== 'yes' || step.do !== 'relaunch')
    always((node, step) => node.hosted !== 'yes' || node.brokerState !== 'bound' || step.do === 'leave')
  })
  it('never takes "cannot tell" for "gone"', () => {
    always((node, step) => node.hosted !== 'unknown' || step.do === 'leave' || step.do === 'launch')
  })
  it('never gives up below the budget, nor for what a host lost', () => {
    always(
      (node, step) => !(step.do === 'give_up' && step.why === 'crash_loop') || recent(node) + 1 >= limits.launchBudget,
    )
    always((node, step) => !(step.do === 'give_up' && step.why === 'crash_loop') || node.hosted === 'no')
  })
  it('never goes beyond the budget', () => {
    always(
      (node, step) => !(step.do === 'relaunch' && node.hosted === 'no') || step.losses.length < limits.launchBudget,
    )
  })
  it('keeps only the losses of the window, and counts those of a host to nobody', () => {
    always(
      (node, step) => step.do !== 'relaunch' || step.losses.length === recent(node) + (node.hosted === 'no' ? 1 : 0),
    )
  })
  it('does nothing before the time that a back-off names', () => {
    always((node, step) => node.notBefore === null || node.notBefore <= now || step.do === 'leave')
  })
})

describe('after a loss', () => {
  const waits = (random: number): (number | string)[] => {
    let losses: readonly number[] = []
    return Array.from({ length: 5 }, (_, at) => {
      const step = afterLoss(losses, now + at, limits, () => random)
      if (step.do !== 'relaunch') return step.do
      losses = step.losses
      return step.delayMs
    })
  }

  it('the first process is followed at once, the others after waits that double, and the last launch is the fifth', () => {
    expect(waits(1)).toEqual([0, 2000, 4000, 8000, 'give_up'])
    expect(waits(0)).toEqual([0, 0, 0, 0, 'give_up'])
  })

  it('losses that lie before the window are forgotten', () => {
    const old = Array.from({ length: 20 }, () => now - limits.launchWindowMs)
    expect(afterLoss(old, now, limits)).toEqual({ do: 'relaunch', losses: [now], delayMs: 0 })
  })
})
