import type { Random } from '../random.js'
import { crowdSource, sources } from './object.scene.js'

/** An event as a publisher means it; the tag names it in all rounds, and in every log. */
export interface Meant {
  readonly tag: string
  readonly event: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly dedupe: boolean
}

/** What one publisher asks at one moment. */
export interface Errand {
  readonly source: string
  readonly events: readonly Meant[]
  readonly batch: boolean
  /** The code that it is to be refused with; undefined where it is to be accepted. */
  readonly refusal: 'event_not_declared' | 'payload_schema_mismatch' | undefined
  /** ms after the beginning of the round. */
  readonly at: number
  /**
   * How a client goes on that did not hear the answer: `key` asks again under its Idempotency-Key, `event` publishes the
   * same event anew, under another one.
   */
  readonly again: 'no' | 'key' | 'event'
}

/** ms that the load of a round takes without faults. */
export const loadLength = 3000
const lanes = 6
const errandsOfLane = 14
/** Each of its events is some seventy deliveries. */
const crowdShare = 0.12

const names = ['tick', 'tick', 'tick', 'note', 'note', 'call'] as const

/** What the publishers of a round do, each in its order. */
export const lanesOf = (round: number, random: Random): Errand[][] =>
  Array.from({ length: lanes }, (_, lane) => {
    const source = random.pick(sources)
    return Array.from({ length: errandsOfLane }, (_, at) =>
      errandOf(`r${round}-${lane}-${at}`, random.next() < crowdShare ? crowdSource : source, random),
    ).toSorted((a, b) => a.at - b.at)
  })

const errandOf = (tag: string, source: string, random: Random): Errand => {
  const batch = random.between(1, 3) === 1
  const count = batch ? random.between(1, source === crowdSource ? 4 : 12) : 1
  const fate = random.between(1, 100)
  const refusal = fate <= 8 ? 'event_not_declared' : fate <= 16 ? 'payload_schema_mismatch' : undefined
  const dedupe = random.between(1, 3) === 1
  const events = Array.from({ length: count }, (_, at): Meant => {
    const own = `${tag}-${at}`
    const payload = { tag: own, n: random.between(0, 1e6), text: 'x'.repeat(random.between(0, 600)) }
    return { tag: own, event: random.pick(names), payload, dedupe }
  })
  const at = random.between(0, loadLength)
  const again = random.pick(dedupe ? (['key', 'event', 'event'] as const) : (['no', 'no', 'key'] as const))
  return { source, events: spoiled(events, refusal, random), batch, refusal, at, again }
}

/** One of them is wrong, and none may be accepted. */
const spoiled = (events: readonly Meant[], refusal: Errand['refusal'], random: Random): readonly Meant[] => {
  const wrong = random.between(0, events.length - 1)
  const misfits = [{ n: 'many' }, { n: 1.5 }, { text: null }, { more: true }]
  switch (refusal) {
    case undefined:
      return events
    case 'event_not_declared':
      return events.with(wrong, { ...(events[wrong] as Meant), event: 'unheard.of' })
    case 'payload_schema_mismatch': {
      const { payload, ...meant } = events[wrong] as Meant
      return events.with(wrong, { ...meant, payload: { ...payload, ...random.pick(misfits) } })
    }
  }
}
