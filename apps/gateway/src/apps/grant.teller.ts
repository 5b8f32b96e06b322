import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { contract } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { backoff, CLOCK, type Clock, pause } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import type { GrantRecord } from './grant.record.js'
import { GrantRepository } from './grant.repository.js'

const entry = contract['lifecycle.grant.changed']

const pageSize = 200
/** How often (ms) all grants are told although nothing changed: who told of a change may have died before it did. */
const netEvery = 30_000
const askedWithin = 3000
/** Failures in a row, some seconds of them, after which the owner is to know: what is begun for an app waits meanwhile. */
const saidAfter = 5

/**
 * Keeps lifecycle's copy of the grants level with the rows: each change at once, and again until it is taken; all of them
 * at the start, when the bus is back, and every now and then. Told twice, or too late, a grant changes nothing.
 */
@Injectable()
export class GrantTeller implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #ended = new AbortController()
  readonly #owed = new Set<string>()
  #owesAll = false
  #telling: Promise<void> | undefined
  #callOff: (() => void) | undefined

  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(GrantRepository) private readonly repository: GrantRepository,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.bus.onBack(() => this.#tellAll())
    this.#net()
  }

  onModuleDestroy(): void {
    this.#ended.abort()
    this.#callOff?.()
  }

  /** Resolves when it was taken, or after `within` ms: it is told until it is, whoever waits. */
  async tell(appId: string, within: number): Promise<void> {
    this.#owed.add(appId)
    await Promise.race([this.#run(), pause(this.clock, within, this.#ended.signal)])
  }

  #net(): void {
    this.#tellAll()
    this.#callOff = this.clock.after(netEvery, () => this.#net())
  }

  #tellAll(): void {
    this.#owesAll = true
    void this.#run()
  }

  get #owes(): boolean {
    return !this.#ended.signal.aborted && (this.#owed.size > 0 || this.#owesAll)
  }

  #run(): Promise<void> {
    this.#telling ??= this.#work().finally(() => {
      this.#telling = undefined
      // what came to be owed while the last look at it was over
      if (this.#owes) void this.#run()
    })
    return this.#telling
  }

  async #work(): Promise<void> {
    const { signal } = this.#ended
    for (let failures = 0; this.#owes; ) {
      try {
        await this.#tellOwed()
        if (this.#owesAll) await this.#tellEvery()
        failures = 0
      } catch (err) {
        failures += 1
        const level = failures === saidAfter ? 'warn' : 'debug'
        this.log[level]({ err, owed: this.#owed.size }, 'lifecycle was not told of grants yet; trying again')
        await pause(this.clock, 50 + backoff(failures, 50, 3000), signal)
      }
    }
  }

  async #tellOwed(): Promise<void> {
    const owed = [...this.#owed].slice(0, pageSize)
    if (owed.length === 0) return
    // one that changes again while it is told is owed again
    for (const appId of owed) this.#owed.delete(appId)
    try {
      await this.#send(await this.repository.findAll(owed))
    } catch (error) {
      for (const appId of owed) this.#owed.add(appId)
      throw error
    }
  }

  async #tellEvery(): Promise<void> {
    this.#owesAll = false
    try {
      for (let after = ''; ; ) {
        const page = await this.repository.page(after, pageSize)
        await this.#send(page)
        const last = page.at(-1)
        if (!last || page.length < pageSize) return
        after = last.appId
      }
    } catch (error) {
      this.#owesAll = true
      throw error
    }
  }

  async #send(grants: readonly GrantRecord[]): Promise<void> {
    if (grants.length === 0) return
    const told = grants.map(({ appId, scopes, profiles, version, status }) => ({
      app_id: appId,
      scopes: [...scopes],
      profiles: profiles && [...profiles],
      version,
      status,
    }))
    const ctx = systemContext('gateway', this.#ended.signal)
    await this.bus.call(entry, ctx, { grants: told }, { timeout: askedWithin })
  }
}
