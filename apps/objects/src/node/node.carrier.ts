import type { HandedEvent } from '#common/contract/object.internal.js'
import { backoff, type Clock, isoTime } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Logger } from '#common/kernel/log.js'
import type { Addressee, Carrier, Outcome, Outgoing } from '../send/carrier.js'
import type { EventHands, HandOutcome } from './event.hands.js'
import type { NodeEnds } from './node-end.service.js'

/** Ms between two tries while lifecycle can't be asked. */
const away = { base: 500, cap: 30_000 }

/** Ms between two tries while the box of a node is full. */
const full = { least: 5000, most: 300_000 }

const unfit = 'The daemon can not make mail of this event.'

/**
 * Deliveries to nodes, which find them as mail: each once, since lifecycle knows which it has taken. One that has ended watches
 * nothing any more; for one whose box is full all waits, in its order, until there is room.
 */
export class NodeCarrier implements Carrier {
  readonly kind = 'node'
  readonly receivers = 128
  readonly lanes = 1
  readonly batch = 50
  #failures = 0

  constructor(
    private readonly hands: EventHands,
    private readonly ends: NodeEnds,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  async carry({ id }: Addressee, deliveries: readonly Outgoing[]): Promise<readonly Outcome[]> {
    const asked = new Date(this.clock.now())
    const outcomes = await this.#ask(id, deliveries)
    if (!outcomes) {
      const ms = away.base + backoff(this.#failures, away.base, away.cap)
      return deliveries.map(() => ({ kind: 'later', ms }))
    }
    if (outcomes.includes('gone')) {
      // its rows go with what waits there: nothing is left to be written of these
      await this.ends.gone(systemContext('objects'), id, asked)
      return deliveries.map(() => ({ kind: 'later', ms: 0 }))
    }
    return deliveries.map((delivery, at) => outcomeOf(outcomes[at] as HandOutcome, delivery, asked.getTime()))
  }

  /** What lifecycle says of each; undefined when it can't be asked, of which nothing is noted. */
  async #ask(id: string, deliveries: readonly Outgoing[]): Promise<readonly HandOutcome[] | undefined> {
    try {
      const outcomes = await this.hands.hand(deliveries.map((delivery) => handed(id, delivery)))
      this.#failures = 0
      return outcomes
    } catch (err) {
      if (this.#failures === 0) this.log.warn({ err }, 'events could not be handed to nodes; trying again')
      this.#failures += 1
      return undefined
    }
  }
}

const outcomeOf = (outcome: HandOutcome, { accepted_at }: Outgoing, now: number): Outcome => {
  if (outcome === 'accepted') return { kind: 'acked' }
  if (outcome === 'unfit') return { kind: 'failed', error: unfit }
  // as long once more as it has waited
  const waited = now - accepted_at.getTime()
  return { kind: 'later', ms: Math.min(full.most, Math.max(full.least, waited)) }
}

const handed = (node_id: string, delivery: Outgoing): HandedEvent => ({
  id: delivery.id,
  node_id,
  tier: delivery.tier ?? 'normal',
  source: { id: delivery.source_id, name: delivery.source_name },
  event_id: delivery.event_id,
  event: delivery.event,
  payload: delivery.payload,
  published_by: delivery.published_by,
  at: isoTime(delivery.accepted_at.getTime()),
  request_id: delivery.request_id,
  traceparent: delivery.traceparent,
})
