import { describe, expect, it } from '@jest/globals'
import type { Clock } from '#common/kernel/clock.js'
import { ProviderHealth } from './provider.health.js'

const clockAt = () => {
  let now = 1000
  let jumped = 0
  const clock: Clock = { now: () => now + jumped, monotonic: () => now, after: () => () => undefined }
  return { clock, pass: (ms: number) => (now += ms), jump: (ms: number) => (jumped += ms) }
}
const limits = { failures: 3, openFor: 1000, openAtMost: 4000 }
const fail = (health: ProviderHealth, times = 1) => {
  for (let count = 0; count < times; count += 1) health.failed('p', 'connection', 'refused')
}

describe('the circuit of a provider', () => {
  it('opens after so many failures in a row, and one success begins the count anew', () => {
    const health = new ProviderHealth(clockAt().clock, limits)
    fail(health, 2)
    health.succeeded('p')
    fail(health, 2)
    expect(health.admit('p')).toEqual({ admitted: true })
    fail(health)
    expect(health.admit('p')).toEqual({ admitted: false, retryAfterMs: 1000 })
  })

  it('closes in its time also when the clock is set back meanwhile', () => {
    const { clock, pass, jump } = clockAt()
    const health = new ProviderHealth(clock, limits)
    fail(health, 3)
    jump(-3_600_000)
    pass(1000)
    expect(health.admit('p')).toEqual({ admitted: true })
  })

  it('lets one call through as a probe, and stays open longer when that fails', () => {
    const { clock, pass } = clockAt()
    const health = new ProviderHealth(clock, limits)
    fail(health, 3)
    pass(1000)
    expect(health.admit('p')).toEqual({ admitted: true })
    expect(health.admit('p')).toMatchObject({ admitted: false })
    fail(health)
    expect(health.admit('p')).toEqual({ admitted: false, retryAfterMs: 2000 })
    pass(2000)
    expect(health.admit('p')).toEqual({ admitted: true })
    health.succeeded('p')
    expect(health.admit('p')).toEqual({ admitted: true })
    expect(health.admit('p')).toEqual({ admitted: true })
  })

  it('lets the next one probe when a probe was given up', () => {
    const { clock, pass } = clockAt()
    const health = new ProviderHealth(clock, limits)
    fail(health, 3)
    pass(1000)
    health.admit('p')
    health.withdrew('p')
    expect(health.admit('p')).toEqual({ admitted: true })
  })

  it('stays closed over failures that are not about the connection', () => {
    const health = new ProviderHealth(clockAt().clock, limits)
    for (let count = 0; count < 9; count += 1) health.failed('p', 'rate_limit', 'slow down')
    expect(health.admit('p')).toEqual({ admitted: true })
    expect(health.of('p')).toMatchObject({ state: 'failing', reason: 'rate_limit: slow down' })
  })

  it('counts a failure of the request as a sign of life', () => {
    const health = new ProviderHealth(clockAt().clock, limits)
    fail(health, 2)
    health.failed('p', 'context_length', 'too long')
    expect(health.of('p')).toEqual({ state: 'usable', reason: null, checkedAt: 1000 })
  })

  it('knows nothing any more after its credential changed', () => {
    const health = new ProviderHealth(clockAt().clock, limits)
    fail(health, 3)
    health.forget('p')
    expect(health.of('p').state).toBe('unknown')
    expect(health.admit('p')).toEqual({ admitted: true })
  })
})
