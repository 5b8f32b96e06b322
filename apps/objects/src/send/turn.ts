import type { Clock } from '#common/kernel/clock.js'
import type { Reader } from '#common/kernel/database/tx.js'
import type { Logger } from '#common/kernel/log.js'
import { beginSpan, type Span } from '#common/kernel/trace/span.js'
import { eventIdFor } from '../delivery/delivery.view.js'
import { deliveryIdOf } from '../ids.js'
import type { Carrier, Outcome, Outgoing } from './carrier.js'
import type { SendLedger, Sent } from './send.ledger.js'
import type { DueDelivery, Held, SendRepository, Standing } from './send.repository.js'

/** Failures without a success between them after which a receiver is left alone for a while (ms). */
const failuresInARow = 8
const restAfterFailures = 5000
/** Ms after which a receiver makes way for others that wait. */
const longestTurn = 5000

export interface TurnParts {
  readonly reader: Reader
  readonly sending: SendRepository
  readonly ledger: SendLedger
  readonly carrier: Carrier
  readonly clock: Clock
  readonly log: Logger
  /** Whether other receivers wait for their turn. */
  readonly crowded: () => boolean
}

/** Why nothing more is begun. `way`: others are to come first, or this process ends. */
type Stop = { readonly why: 'lost' | 'paused' | 'way' } | { readonly why: 'rest'; readonly until: Date }

/**
 * What one receiver is sent while this process holds it: retries that are due and what is new, so many at a time as it takes
 * well. It begins with one at a time, and goes back to that with each failure: a receiver that hangs holds up little.
 */
export class Turn {
  readonly #parts: TurnParts
  readonly #abort = new AbortController()
  readonly #began: number
  /** Numbers of deliveries that are on their way, or whose outcome is not written yet. */
  readonly #open = new Set<number>()
  #sent: Sent[] = []
  #writing: Promise<void> | undefined
  #page: Outgoing[] = []
  #standing: Standing | undefined
  /** What is new is read behind it. */
  #position = 0
  /** Up to here everything was sent, once nothing is open. */
  #seen = 0
  #busy = 0
  #width = 1
  #failures = 0
  #stop: Stop | undefined
  #changed: () => void = () => undefined

  constructor(
    readonly held: Held,
    parts: TurnParts,
    /** When somebody else may take it, unless it is renewed (ms since the epoch). */
    public heldUntil: number,
  ) {
    this.#parts = parts
    this.#began = parts.clock.monotonic()
  }

  /** That there may be something new. */
  wake(): void {
    this.#changed()
  }

  /** Nothing more is begun; what is under way goes on. */
  end(): void {
    this.#halt({ why: 'way' })
  }

  /** This process may not send to it any more: what is under way is left, and nothing written. */
  lose(): void {
    this.#halt({ why: 'lost' })
    this.#abort.abort()
  }

  /** What is under way is left, and counts as not sent. */
  leave(): void {
    this.#abort.abort()
  }

  /** Resolves when the receiver was let go, or lost. */
  async run(): Promise<void> {
    try {
      while (!(await this.#round()));
    } catch (err) {
      // its hold runs out, and somebody begins again
      this.lose()
      const { id } = this.held
      this.#parts.log.warn({ err, receiver: id }, 'sending to a receiver broke off; it is taken up again')
      await this.#drained()
    }
  }

  /** Sends what there is room for, or waits; answers whether all is over. */
  async #round(): Promise<boolean> {
    if (!this.#stop) this.#makeWay()
    if (this.#stop) return this.#finish(this.#stop)
    const changed = new Promise<void>((resolve) => (this.#changed = resolve))
    if (this.#busy >= this.#width) {
      await changed
      return false
    }
    if (this.#page.length === 0) await this.#read()
    if (this.#stop) return false
    const next = this.#page.splice(0, this.#parts.carrier.batch)
    if (next.length) this.#send(next)
    else if (this.#open.size) await changed
    else return this.#parts.ledger.letGo(this.held, { all: this.#seen })
    return false
  }

  async #finish(stop: Stop): Promise<boolean> {
    await this.#drained()
    if (this.#stop?.why === 'lost') return true
    const how = stop.why === 'rest' ? { restUntil: stop.until } : { restUntil: undefined }
    return this.#parts.ledger.letGo(this.held, how)
  }

  /** Waits for what is under way, and for its outcome to be written. */
  async #drained(): Promise<void> {
    while (this.#busy > 0 || this.#writing) {
      const changed = new Promise<void>((resolve) => (this.#changed = resolve))
      await (this.#writing ?? changed)
    }
  }

  #makeWay(): void {
    const { clock, crowded } = this.#parts
    if (clock.monotonic() - this.#began > longestTurn && crowded()) this.end()
  }

  async #read(): Promise<void> {
    const { reader, sending, carrier, clock } = this.#parts
    const { id } = this.held
    const standing = await sending.standing(reader, this.held)
    if (!standing) return this.#halt({ why: 'paused' })
    this.#standing = standing
    const limit = this.#width * carrier.batch
    const now = new Date(clock.now())
    const retries = await sending.retries(reader, id, { now, limit, without: [...this.#open] })
    // retries may be many: what is new has its share
    const share = Math.max(Math.ceil(limit / 2), limit - retries.length)
    const fresh = await sending.fresh(reader, id, this.#position, share)
    this.#position = fresh.rows.at(-1)?.seq ?? this.#position
    if (!fresh.more) this.#position = Math.max(this.#position, standing.delivery_seq)
    if (!fresh.more) this.#seen = this.#position
    this.#page = [...retries, ...fresh.rows].map(outgoing)
    for (const { seq } of this.#page) this.#open.add(seq)
  }

  /** Sends some deliveries, without waiting for what becomes of them. */
  #send(deliveries: readonly Outgoing[]): void {
    this.#busy += 1
    void this.#carry(deliveries).then((outcomes) => {
      this.#busy -= 1
      for (const [at, delivery] of deliveries.entries()) this.#take({ delivery, outcome: outcomes[at] ?? unsent })
      this.#write()
      this.#changed()
    })
  }

  async #carry(deliveries: readonly Outgoing[]): Promise<readonly Outcome[]> {
    const { carrier, log } = this.#parts
    const { id } = this.held
    const spans = deliveries.map((delivery) => spanOf(delivery, id))
    const traced = deliveries.map((delivery, at) => ({ ...delivery, traceparent: spans[at]?.traceparent ?? null }))
    const outcomes = await carrier
      .carry(this.#standing as Standing, traced, this.#abort.signal)
      .catch((err: unknown): Outcome[] => {
        log.warn({ err, receiver: id }, 'a receiver could not be sent to')
        return deliveries.map(() => unsent)
      })
    for (const [at, span] of spans.entries()) span?.end(errorOf(outcomes[at]))
    return outcomes
  }

  #take(sent: Sent): void {
    const { outcome, delivery } = sent
    if (outcome.kind === 'later') {
      this.#open.delete(delivery.seq)
      this.#rest(outcome.ms)
      return
    }
    this.#sent.push(sent)
    if (outcome.kind === 'acked') {
      this.#failures = 0
      this.#width = Math.min(this.#parts.carrier.lanes, this.#width * 2)
      return
    }
    this.#failures += 1
    this.#width = 1
    if (this.#failures >= failuresInARow) this.#rest(restAfterFailures)
  }

  #rest(ms: number): void {
    this.#halt({ why: 'rest', until: new Date(this.#parts.clock.now() + ms) })
  }

  #halt(stop: Stop): void {
    if (this.#stop?.why !== 'lost') this.#stop = this.#stop && stop.why !== 'lost' ? this.#stop : stop
    this.#page = []
    this.#changed()
  }

  /** Writes what has come in; what comes in meanwhile is written together, next. */
  #write(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
      this.#changed()
    })
  }

  async #writeAll(): Promise<void> {
    while (this.#sent.length && this.#stop?.why !== 'lost') {
      const sent = this.#sent.splice(0)
      const goesOn = await this.#parts.ledger
        .record(this.held, this.#standing as Standing, sent)
        .catch((err: unknown) => {
          this.#parts.log.warn({ err, receiver: this.held.id }, 'what was sent could not be written down')
          this.lose()
          return true
        })
      for (const { delivery } of sent) this.#open.delete(delivery.seq)
      if (!goesOn) this.#halt({ why: 'paused' })
    }
  }
}

/** Of a delivery of which its carrier says nothing. */
const unsent: Outcome = { kind: 'later', ms: restAfterFailures }

/** A step of the trace that an event belongs to; of one without, none: each try of it says the same. */
const spanOf = ({ id, event, traceparent }: Outgoing, receiver: string): Span | undefined =>
  traceparent === null
    ? undefined
    : beginSpan(`deliver ${event}`, 'producer', traceparent, {
        'messaging.message.id': id,
        'svc.receiver': receiver,
      })

const errorOf = (outcome: Outcome | undefined): string | undefined =>
  outcome && 'error' in outcome ? outcome.error : undefined

const outgoing = (row: DueDelivery): Outgoing => ({
  id: deliveryIdOf(row.receiver_id, row.seq),
  seq: row.seq,
  attempt: row.attempt + 1,
  planned_at: row.planned_at,
  source_id: row.source_id,
  source_name: row.source_name,
  event_id: eventIdFor(row),
  event: row.event,
  payload: row.payload,
  published_by: row.published_by,
  request_id: row.request_id,
  traceparent: row.traceparent,
  tier: row.tier,
  accepted_at: row.accepted_at,
})
