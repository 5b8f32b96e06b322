import { randomUUID } from 'node:crypto'
import { type Clock, pause } from '#common/kernel/clock.js'
import type { Reader } from '#common/kernel/database/tx.js'
import type { Logger } from '#common/kernel/log.js'
import type { Wake } from '../delivery/wake.js'
import type { Running } from '../objects.lifetime.js'
import type { Carrier } from './carrier.js'
import type { ReceiverKinds } from './receiver.kinds.js'
import type { SendLedger } from './send.ledger.js'
import type { SendRepository } from './send.repository.js'
import { Turn } from './turn.js'

/** Ms for which a receiver is held at a time: what a process dies over, or breaks off, rests for as long. */
export const holdFor = 8000
const renewEvery = holdFor / 3
/** Ms after which it is looked for what is due, though nobody has said so. */
const lookEvery = 5000
/** Ms between two looks when the one before found nothing. */
const calm = 20
/** Ms that sending has to end by itself when the service stops. */
const drainWithin = 5000

export interface SenderParts {
  readonly reader: Reader
  readonly sending: SendRepository
  readonly ledger: SendLedger
  readonly wake: Wake
  readonly kinds: ReceiverKinds
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Sends to the receivers of one kind, with any number of such processes beside it. What is to be done stands in the rows: a
 * receiver is due at a moment, and whoever holds it is the only one that sends to it. A process that dies repeats nothing
 * but what was on its way.
 */
export class Sender implements Running {
  readonly #holder = randomUUID()
  readonly #turns = new Map<string, Turn>()
  readonly #ends = new Set<Promise<void>>()
  #looking: Promise<void> | undefined
  #again = false
  #stopped = false
  #failing = false
  #callOff: () => void = () => undefined
  #callOffRenewal: () => void = () => undefined
  #deaf: () => void = () => undefined

  constructor(
    private readonly carrier: Carrier,
    private readonly parts: SenderParts,
  ) {}

  start(): void {
    this.#deaf = this.parts.wake.onAny((ids) => this.#told(ids))
    this.#renewLater()
    this.#look()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#deaf()
    this.#callOff()
    await this.#looking
    for (const turn of this.#turns.values()) turn.end()
    const ended = Promise.all(this.#ends)
    await Promise.race([ended, pause(this.parts.clock, drainWithin)])
    for (const turn of this.#turns.values()) turn.leave()
    await ended
    this.#callOffRenewal()
  }

  #told(ids: readonly string[]): void {
    for (const id of ids) this.#turns.get(id)?.wake()
    // those that are held here see to it themselves
    const others = ids.filter((id) => !this.#turns.has(id))
    if (this.parts.kinds.mayBe(this.carrier.kind, others)) this.#look()
  }

  /** Looks for what is due: now, or when the look that goes on is over. */
  #look(): void {
    if (this.#stopped) return
    this.#again = true
    if (this.#looking) return
    this.#callOff()
    this.#looking = this.#lookAll().finally(() => {
      this.#looking = undefined
      if (this.#again) this.#look()
    })
  }

  async #lookAll(): Promise<void> {
    const { clock, log } = this.parts
    let wait = lookEvery
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false
        const now = clock.now()
        const taken = await this.#take(new Date(now))
        if (taken === 0) {
          const next = await this.parts.sending.nextDue(this.parts.reader, this.carrier.kind, new Date(now))
          wait = Math.min(lookEvery, Math.max(calm, (next?.getTime() ?? Infinity) - clock.now()))
          if (this.#again) await pause(clock, calm)
        } else if (this.#room > 0) this.#again = true
      }
      this.#failing = false
    } catch (err) {
      if (!this.#failing && !this.#stopped)
        log.warn({ err }, 'what is to be sent could not be looked for; trying again')
      this.#failing = true
      this.#again = false
    }
    if (!this.#stopped) this.#callOff = clock.after(wait, () => this.#look())
  }

  get #room(): number {
    return this.carrier.receivers - this.#turns.size
  }

  async #take(now: Date): Promise<number> {
    if (this.#room <= 0) return 0
    const until = now.getTime() + holdFor
    const ids = await this.parts.sending.take(this.parts.reader, this.carrier.kind, {
      holder: this.#holder,
      now,
      until: new Date(until),
      limit: this.#room,
      without: [...this.#turns.keys()],
    })
    for (const id of ids) this.#begin(id, until)
    return ids.length
  }

  #begin(id: string, until: number): void {
    const { carrier, parts } = this
    const crowded = (): boolean => this.#room <= 0
    const turn = new Turn({ id, holder: this.#holder }, { ...parts, carrier, crowded }, until)
    this.#turns.set(id, turn)
    const ended = turn.run().finally(() => {
      this.#turns.delete(id)
      this.#ends.delete(ended)
      this.#look()
    })
    this.#ends.add(ended)
  }

  #renewLater(): void {
    this.#callOffRenewal = this.parts.clock.after(renewEvery, () => {
      void this.#renew().then(() => {
        if (!this.#stopped || this.#turns.size) this.#renewLater()
      })
    })
  }

  async #renew(): Promise<void> {
    const turns = [...this.#turns.values()]
    if (turns.length === 0) return
    const { reader, sending, clock, log } = this.parts
    const until = clock.now() + holdFor
    try {
      const ids = turns.map(({ held }) => held.id)
      const rows = await sending.renew(reader, this.#holder, ids, new Date(until))
      const held = new Map(rows.map(({ id, status }) => [id, status]))
      for (const turn of turns) {
        const status = held.get(turn.held.id)
        if (status === undefined) turn.lose()
        else if (status === 'paused') turn.end()
        else turn.heldUntil = until
      }
    } catch (err) {
      log.warn({ err }, 'the hold on receivers could not be renewed')
      // before the next try somebody else may have taken them
      for (const turn of turns) if (turn.heldUntil < clock.now() + renewEvery) turn.lose()
    }
  }
}
