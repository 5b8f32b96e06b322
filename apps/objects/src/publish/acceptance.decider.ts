import type { Acceptance } from '#common/contract/object.schema.js'
import { isoTime } from '#common/kernel/clock.js'
import { eventIdOf } from '../ids.js'
import type { AcceptedKey, FullWatcher, KeptAnswer, KeyName } from './acceptance.repository.js'
import type { CheckedEvent, Outcome, Publication, PublicationKey, Verdict } from './publication.js'
import type { LockedSource, NewSourceEvent } from './publication.repository.js'

/** How long (ms) a key stands for what was accepted under it. */
const keysKeptFor = 24 * 3_600_000

/** Keys of after then still stand. */
export const keysAfter = (now: number): Date => new Date(now - keysKeptFor)

/** What the database says while the sources are locked. */
export interface Standing {
  readonly sources: readonly LockedSource[]
  readonly versions: ReadonlyMap<string, number>
  readonly keys: readonly AcceptedKey[]
  readonly full: readonly FullWatcher[]
}

export const dedupeName = (object_id: string, key: string): KeyName => ({ object_id, key: `d:${key}` })
export const requestName = (object_id: string, { key }: PublicationKey): KeyName => ({ object_id, key: `i:${key}` })

/** All keys that a publication names. */
export const keysOf = ({ object_id, events, key }: Publication): KeyName[] => [
  ...events.flatMap(({ dedupe_key }) => (dedupe_key === undefined ? [] : [dedupeName(object_id, dedupe_key)])),
  ...(key ? [requestName(object_id, key)] : []),
]

const nameOf = ({ object_id, key }: KeyName): string => `${object_id} ${key}`

const answered = (objectId: string, { seq, accepted_at, duplicate }: KeptAnswer): Acceptance => ({
  event_id: eventIdOf(objectId, seq),
  seq,
  accepted_at,
  duplicate,
})

/** What a request was answered that was accepted under this key before. */
export const replayOf = (
  { object_id, hash, seq, count, accepted_at, answers }: AcceptedKey,
  key: PublicationKey,
): Verdict => {
  if (hash === null || !key.hash.equals(hash)) return { kind: 'reused' }
  const at = isoTime(accepted_at.getTime())
  const kept = answers ?? Array.from({ length: count }, (_, n) => ({ seq: seq + n, accepted_at: at, duplicate: false }))
  return { kind: 'accepted', answers: kept.map((each) => answered(object_id, each)), replayed: true }
}

/**
 * Decides about publications one after another, as if each came in a transaction of its own: what one of them is refused
 * for is nothing to the others. Gathers what is to be written.
 */
export class AcceptanceDecider {
  readonly events: NewSourceEvent[] = []
  readonly keys: AcceptedKey[] = []
  readonly #lastSeq: Map<string, number>
  readonly #known: Map<string, AcceptedKey>

  constructor(
    private readonly standing: Standing,
    private readonly at: Date,
  ) {
    this.#lastSeq = new Map(standing.sources.map(({ id, event_seq }) => [id, event_seq]))
    this.#known = new Map(standing.keys.map((key) => [nameOf(key), key]))
  }

  decide(publication: Publication): Outcome {
    const { object_id, version, key } = publication
    const before = this.#lastSeq.get(object_id)
    const first = key && this.#known.get(nameOf(requestName(object_id, key)))
    if (first) return replayOf(first, key)
    if (before === undefined || this.standing.versions.get(object_id) !== version) return { kind: 'stale' }
    const receivers = this.#fullFor(publication)
    if (receivers.length > 0) return { kind: 'full', receivers }
    return { kind: 'accepted', answers: this.#accept(publication, before), replayed: false }
  }

  #accept(publication: Publication, before: number): Acceptance[] {
    const { object_id, key } = publication
    const answers = publication.events.map((event) => this.#take(publication, event))
    if (key) {
      const isPlain = answers.every(({ duplicate }) => !duplicate)
      this.#keep({
        ...requestName(object_id, key),
        hash: key.hash,
        seq: before + 1,
        count: answers.length,
        accepted_at: this.at,
        answers: isPlain ? null : answers,
      })
    }
    return answers.map((each) => answered(object_id, each))
  }

  #take({ object_id, published_by, request_id, traceparent }: Publication, given: CheckedEvent): KeptAnswer {
    const name = given.dedupe_key === undefined ? undefined : dedupeName(object_id, given.dedupe_key)
    const first = name && this.#known.get(nameOf(name))
    if (first) return { seq: first.seq, accepted_at: isoTime(first.accepted_at.getTime()), duplicate: true }
    const seq = (this.#lastSeq.get(object_id) as number) + 1
    this.#lastSeq.set(object_id, seq)
    const { event, payload } = given
    this.events.push({
      source_id: object_id,
      seq,
      event_id: null,
      event,
      payload,
      published_by,
      request_id,
      traceparent,
    })
    if (name) this.#keep({ ...name, hash: null, seq, count: 1, accepted_at: this.at, answers: null })
    return { seq, accepted_at: isoTime(this.at.getTime()), duplicate: false }
  }

  #keep(key: AcceptedKey): void {
    this.#known.set(nameOf(key), key)
    this.keys.push(key)
  }

  /** Receivers that take no more, and would be delivered to. */
  #fullFor({ object_id, events }: Publication): FullWatcher[] {
    const ofSource = this.standing.full.filter(({ source_id }) => source_id === object_id)
    if (ofSource.length === 0) return []
    const coming = new Set(events.filter((given) => this.#isNew(object_id, given)).map(({ event }) => event))
    return ofSource.filter((watcher) =>
      watcher.events.length === 0 ? coming.size > 0 : watcher.events.some((event) => coming.has(event)),
    )
  }

  #isNew(objectId: string, { dedupe_key }: CheckedEvent): boolean {
    return dedupe_key === undefined || !this.#known.has(nameOf(dedupeName(objectId, dedupe_key)))
  }
}
