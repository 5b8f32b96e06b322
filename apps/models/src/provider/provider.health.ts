import type { Clock } from '#common/kernel/clock.js'
import type { FailureReason } from './provider.failure.js'

export interface Health {
  readonly state: 'unknown' | 'usable' | 'failing'
  readonly reason: string | null
  /** Milliseconds since the epoch. */
  readonly checkedAt: number | null
}

interface Standing {
  health: Health
  /** Failures in a row that speak of the provider rather than of the request. */
  failures: number
  /** By the monotonic clock (ms), so that a jump of the other one keeps no circuit open. */
  openUntil: number
  opened: number
  probing: boolean
}

/** Failures in a row that open the circuit; its first and its longest time (ms). */
export interface CircuitLimits {
  readonly failures: number
  readonly openFor: number
  readonly openAtMost: number
}

export const circuitLimits: CircuitLimits = { failures: 5, openFor: 5000, openAtMost: 60_000 }

export type Admission = { readonly admitted: true } | { readonly admitted: false; readonly retryAfterMs: number }

const unknown: Health = { state: 'unknown', reason: null, checkedAt: null }
const opens = new Set<FailureReason>(['connection', 'overloaded'])
/** Failures of the request, which say nothing about the provider. */
const ofTheRequest = new Set<FailureReason>(['model_not_found', 'context_length', 'invalid_request', 'schema_mismatch'])

/**
 * What the last call said of each provider, in this process, and its circuit: after some connection failures or
 * overloads in a row nothing is sent for a while, then one call as a probe decides.
 */
export class ProviderHealth {
  readonly #records = new Map<string, Standing>()

  constructor(
    private readonly clock: Clock,
    private readonly limits: CircuitLimits = circuitLimits,
  ) {}

  of(provider: string): Health {
    return this.#records.get(provider)?.health ?? unknown
  }

  /** Whether the circuit is open now, and for how many ms more. */
  blockedFor(provider: string): number {
    return Math.max(0, (this.#records.get(provider)?.openUntil ?? 0) - this.clock.monotonic())
  }

  /** Asks to make a call. Who is admitted tells the end by `succeeded`, `failed` or `withdrew`. */
  admit(provider: string): Admission {
    const record = this.#of(provider)
    if (record.opened === 0) return { admitted: true }
    const left = this.blockedFor(provider)
    if (left > 0) return { admitted: false, retryAfterMs: left }
    if (record.probing) return { admitted: false, retryAfterMs: 1000 }
    record.probing = true
    return { admitted: true }
  }

  succeeded(provider: string): void {
    const health: Health = { state: 'usable', reason: null, checkedAt: this.clock.now() }
    this.#records.set(provider, { health, failures: 0, openUntil: 0, opened: 0, probing: false })
  }

  failed(provider: string, reason: FailureReason, message: string): void {
    if (ofTheRequest.has(reason)) {
      this.succeeded(provider)
      return
    }
    const record = this.#of(provider)
    record.probing = false
    record.health = { state: 'failing', reason: `${reason}: ${message}`, checkedAt: this.clock.now() }
    if (!opens.has(reason)) return
    record.failures += 1
    if (record.failures < this.limits.failures && record.opened === 0) return
    record.openUntil =
      this.clock.monotonic() + Math.min(this.limits.openAtMost, this.limits.openFor * 2 ** record.opened)
    record.opened = Math.min(record.opened + 1, 10)
  }

  /** A probe failed: it shows in the health and does not open the circuit, which is for calls. */
  observed(provider: string, reason: FailureReason, message: string): void {
    this.#of(provider).health = { state: 'failing', reason: `${reason}: ${message}`, checkedAt: this.clock.now() }
  }

  /** The call was given up from our side: it says nothing. */
  withdrew(provider: string): void {
    this.#of(provider).probing = false
  }

  /** Its credential or address changed: what was known of it is void. */
  forget(provider: string): void {
    this.#records.delete(provider)
  }

  #of(provider: string): Standing {
    const known = this.#records.get(provider)
    if (known) return known
    const fresh: Standing = { health: unknown, failures: 0, openUntil: 0, opened: 0, probing: false }
    this.#records.set(provider, fresh)
    return fresh
  }
}
