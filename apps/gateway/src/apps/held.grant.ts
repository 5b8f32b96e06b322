import { intersect } from '#common/kernel/scopes.js'
import { BoundedCache } from '../tokens/bounded.cache.js'
import type { GrantRecord } from './grant.record.js'

/** Different lists under one grant that are remembered. */
const lists = 1000

const nothing: readonly string[] = []

/** A grant at one version, and what each list comes to under it: worked out once, not at every request. */
export class HeldGrant {
  readonly #byList = new WeakMap<readonly string[], readonly string[]>()
  readonly #byText = new BoundedCache<string, readonly string[]>(lists)

  /** @param record undefined for an app that never had one: nothing is permitted */
  constructor(readonly record: GrantRecord | undefined) {}

  /**
   * Whether it was taken back, as a whole or for this profile.
   *
   * @param profile that a token or a node is confined to, if it is
   */
  isRevoked(profile: string | null | undefined): boolean {
    if (this.record?.status !== 'active') return true
    const { profiles } = this.record
    return profiles !== null && typeof profile === 'string' && !profiles.includes(profile)
  }

  /** What a list permits under this grant; the grant itself for `null`, the list of who follows it. */
  within(list: readonly string[] | null): readonly string[] {
    if (this.record?.status !== 'active') return nothing
    if (list === null) return this.record.scopes
    const known = this.#byList.get(list)
    if (known) return known
    // lists come anew with each look at their rows, and mostly say the same; a path may hold any sign that could part them
    const text = JSON.stringify(list)
    const met = this.#byText.get(text) ?? intersect(list, this.record.scopes)
    this.#byText.set(text, met)
    this.#byList.set(list, met)
    return met
  }
}
