import { createHash } from 'node:crypto'
import type { Acceptance, Published } from '#common/contract/object.schema.js'
import type { Clock } from '#common/kernel/clock.js'
import { actorRefOf, type Context } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import { SvcError } from '#common/kernel/errors.js'
import { requirePublisher } from '../object/object.access.js'
import { keysAfter, replayOf, requestName } from './acceptance.decider.js'
import type { AcceptanceRepository, FullWatcher } from './acceptance.repository.js'
import type { Acceptor } from './acceptor.js'
import { requireDeclared } from './declared.check.js'
import { bytesOf, type GivenEvent, givenEvents } from './given.event.js'
import type { KnownObject, ObjectCatalogs } from './object.catalogs.js'
import type { Outcome, Publication, PublicationKey, Verdict } from './publication.js'
import type { Refusals } from './refusals.js'

/** How often an object may change between check and acceptance. */
const attempts = 5
/** Full receivers that a refusal names. */
const namedAtMost = 20

interface Asked {
  readonly operation: string
  readonly ref: string
  readonly events: readonly GivenEvent[]
}

/** Publishes events of objects: checks them against the catalog, and has them accepted. */
export class PublishService {
  constructor(
    private readonly database: Database,
    private readonly catalogs: ObjectCatalogs,
    private readonly acceptances: AcceptanceRepository,
    private readonly acceptor: Acceptor,
    private readonly refusals: Refusals,
    private readonly clock: Clock,
  ) {}

  /**
   * @throws SvcError not_found, event_not_declared, payload_schema_mismatch, payload_too_large, queue_full,
   * idempotency_key_reused, rate_limited
   */
  async publish(ctx: Context, { ref, ...event }: Published & { readonly ref: string }): Promise<Acceptance> {
    const events = givenEvents([event], () => '')
    const [answer] = await this.#publish(ctx, { operation: 'publish', ref, events })
    return answer as Acceptance
  }

  /** All of them in their order, or none. @throws as `publish` */
  async publishBatch(
    ctx: Context,
    { ref, events }: { readonly ref: string; readonly events: readonly Published[] },
  ): Promise<{ data: Acceptance[] }> {
    const given = givenEvents(events, (at) => `/events/${at}`)
    return { data: [...(await this.#publish(ctx, { operation: 'publishBatch', ref, events: given }))] }
  }

  async #publish(ctx: Context, asked: Asked): Promise<readonly Acceptance[]> {
    const key = keyOf(ctx, asked)
    let object = this.catalogs.seen(asked.ref) ?? (await this.catalogs.current(asked.ref))
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const refusal = await refusalOf(ctx, asked, object)
      const outcome = refusal
        ? await this.#refuse(asked, object, key, refusal)
        : await this.acceptor.accept(ctx, publicationOf(object as KnownObject, ctx, asked, key))
      if (outcome.kind !== 'stale') return this.#answer(ctx, outcome, key)
      object = await this.catalogs.current(asked.ref)
    }
    throw new SvcError('service_unavailable', 'The object changes all the time.', { service: 'objects' })
  }

  /** What was seen of an object before is good enough to accept for, not to refuse for: the answer is then `stale`. */
  async #refuse(
    { ref }: Asked,
    object: KnownObject | undefined,
    key: PublicationKey | undefined,
    refusal: Refusal,
  ): Promise<Outcome> {
    if ((await this.catalogs.current(ref)) !== object) return { kind: 'stale' }
    // a request that was accepted before the catalog changed is answered again
    const replay = refusal.of === 'content' && key && object && (await this.#replay(object, key))
    if (replay) return replay
    throw refusal.error
  }

  async #replay(object: KnownObject, key: PublicationKey): Promise<Verdict | undefined> {
    const [first] = await this.acceptances.keys(
      this.database,
      [requestName(object.id, key)],
      keysAfter(this.clock.now()),
    )
    return first && replayOf(first, key)
  }

  #answer(ctx: Context, outcome: Verdict, key: PublicationKey | undefined): readonly Acceptance[] {
    switch (outcome.kind) {
      case 'accepted':
        if (outcome.replayed && ctx.notes) ctx.notes.replayed = true
        return outcome.answers
      case 'full':
        this.refusals.count(outcome.receivers, key?.key)
        throw queueFull(outcome.receivers)
      case 'reused':
        throw new SvcError('idempotency_key_reused')
    }
  }
}

interface Refusal {
  /** Whether it is about who publishes, or about what. */
  readonly of: 'caller' | 'content'
  readonly error: unknown
}

const refusalOf = async (
  ctx: Context,
  { ref, events }: Asked,
  object: KnownObject | undefined,
): Promise<Refusal | undefined> => {
  let of: Refusal['of'] = 'caller'
  try {
    const own = requirePublisher(ctx, ref, object)
    of = 'content'
    await requireDeclared(own, events)
    return undefined
  } catch (error) {
    return { of, error }
  }
}

const queueFull = (receivers: readonly FullWatcher[]): SvcError => {
  const names = receivers.slice(0, namedAtMost).map(({ name, receiver_id }) => name ?? receiver_id)
  return new SvcError('queue_full', `Too much waits unacknowledged for ${names.join(', ')}.`, { receivers: names })
}

/** What counts is the text of the payloads: whoever repeats a request sends the same one. */
const keyOf = ({ actor, idempotencyKey }: Context, { operation, events }: Asked): PublicationKey | undefined => {
  if (idempotencyKey === undefined) return undefined
  const hash = createHash('sha256').update(operation)
  for (const { event, dedupe_key, payload } of events)
    hash.update(JSON.stringify([event, dedupe_key ?? null])).update(payload.text)
  return { key: `${actor.principal} ${idempotencyKey}`, hash: hash.digest() }
}

const publicationOf = (
  { id, version }: KnownObject,
  ctx: Context,
  { events }: Asked,
  key: PublicationKey | undefined,
): Publication => ({
  object_id: id,
  version,
  events: events.map(({ event, payload, dedupe_key }) => ({ event, payload: payload.text, dedupe_key })),
  bytes: bytesOf(events),
  key,
  published_by: JSON.stringify(actorRefOf(ctx.actor)),
  request_id: ctx.requestId,
  traceparent: ctx.traceparent ?? null,
})
