import { Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import { BoundedCache } from '../tokens/bounded.cache.js'
import { orLastKnown } from '../tokens/last.known.js'
import { TrustTail } from '../trust/trust.tail.js'
import { GrantRepository } from './grant.repository.js'
import { HeldGrant } from './held.grant.js'

interface Known {
  readonly held: HeldGrant
  /** When its row was read, and when that was last tried (monotonic ms). */
  readonly read: number
  readonly tried: number
}

const capacity = 10_000
/** How long a grant is believed without looking (ms), though nobody told of a change; and while the database is away. */
const timeToLive = 500
const outageTime = 15 * 60_000

/** What apps are granted at this moment: the ceiling of their tokens and of all that runs for them. */
@Injectable()
export class Grants implements OnModuleInit {
  readonly #known = new BoundedCache<string, Known>(capacity)
  /** Look-ups under way: those who ask for the same app wait for the same answer. */
  readonly #asking = new Map<string, Promise<HeldGrant>>()
  readonly #waiting = new Set<(appId: string | undefined) => void>()

  constructor(
    @Inject(GrantRepository) private readonly repository: GrantRepository,
    @Inject(TrustTail) private readonly tail: TrustTail,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.tail.listen((change) => {
      const apps = change === undefined ? [undefined] : (change.apps ?? [])
      for (const appId of apps) this.#forget(appId)
    })
  }

  /**
   * At once when it is remembered.
   *
   * @throws SvcError `service_unavailable` when it was not read of late and can't be now.
   */
  of(appId: string): HeldGrant | Promise<HeldGrant> {
    const known = this.#known.get(appId)
    if (known && this.clock.monotonic() - known.tried < timeToLive) return known.held
    const asked = this.#asking.get(appId) ?? this.#ask(appId, known)
    return known ? orLastKnown(this.clock, asked, () => this.#stillBelieved(appId)) : asked
  }

  /** Calls back at each change, with the app or, when any may have changed, without; answers how to stop. */
  follow(onChange: (appId: string | undefined) => void): () => void {
    this.#waiting.add(onChange)
    return () => void this.#waiting.delete(onChange)
  }

  /** What was known before, while a look at the row takes long; it is believed for a moment more without waiting again. */
  #stillBelieved(appId: string): HeldGrant | undefined {
    const known = this.#known.get(appId)
    const now = this.clock.monotonic()
    if (!known || now - known.read >= outageTime) return undefined
    this.#known.set(appId, { ...known, tried: now })
    return known.held
  }

  #ask(appId: string, known: Known | undefined): Promise<HeldGrant> {
    const asking = this.#read(appId, known)
      .then((now) => {
        // what was read before a change that came meanwhile is not kept
        if (this.#asking.get(appId) === asking) this.#known.set(appId, now)
        return now.held
      })
      .finally(() => {
        if (this.#asking.get(appId) === asking) this.#asking.delete(appId)
      })
    this.#asking.set(appId, asking)
    return asking
  }

  async #read(appId: string, known: Known | undefined): Promise<Known> {
    const read = this.clock.monotonic()
    try {
      const record = await this.repository.find(appId)
      const same = known?.held.record !== undefined && known.held.record.version === record?.version
      return { held: same ? known.held : new HeldGrant(record), read, tried: read }
    } catch (cause) {
      if (known && read - known.read < outageTime) return { ...known, tried: this.clock.monotonic() }
      throw new SvcError('service_unavailable', undefined, { service: 'gateway' }, { cause })
    }
  }

  #forget(appId: string | undefined): void {
    if (appId === undefined) {
      this.#known.clear()
      this.#asking.clear()
    } else {
      this.#known.delete(appId)
      this.#asking.delete(appId)
    }
    for (const onChange of this.#waiting) onChange(appId)
  }
}
