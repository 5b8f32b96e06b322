import type { Acceptance, DeclaredEvent } from '#common/contract/object.schema.js'
import type { Context } from '#common/kernel/context.js'
import { newId } from '#common/kernel/ids.js'
import { type ObjectsUnderTest, ownerCall } from '../../../../test/support/objects-service.js'
import type { ReceiverKind } from '../object/object.record.js'

/** A delivery as its row says it. */
export interface WrittenDelivery {
  readonly seq: number
  readonly source_id: string
  readonly source_seq: number
  readonly tier: string | null
}

/** Objects, watches and what came of publications, as rows. */
export class Stage {
  constructor(readonly objects: ObjectsUnderTest) {}

  /** An object that declares `build.failed`, and whatever else is given; answers its id. */
  async source(
    name: string,
    catalog: readonly Partial<DeclaredEvent>[] = [],
    app: string | null = null,
  ): Promise<string> {
    const id = newId('obj')
    const declared = [{ event: 'build.failed' }, ...catalog].map((each) => ({
      description: '',
      payload_schema: {},
      ...each,
    }))
    await this.objects.database.query(
      `WITH source AS (INSERT INTO objects.sources (id) VALUES ($1))
       INSERT INTO objects.objects (id, name, description, catalog, catalog_version, app_id, created_by, version, created_at, updated_at)
       VALUES ($1, $2, '', $3, 1, $4, '{"kind":"owner","id":null}', 1, now(), now())`,
      [id, name, JSON.stringify(declared), app],
    )
    return id
  }

  /** Receivers that watch a source; answers their ids. */
  async watchers(
    source: string,
    count: number,
    more: { kind?: ReceiverKind; events?: string[]; max_pending?: number; tier?: string } = {},
  ): Promise<string[]> {
    const { kind = 'queue', events = [], max_pending = 100_000, tier = 'normal' } = more
    const ids = Array.from({ length: count }, () => newId(kind === 'node' ? 'node' : 'obj'))
    await this.objects.database.query(
      `WITH made AS (INSERT INTO objects.receivers (id, kind, max_pending) SELECT unnest($1::text[]), $3, $4),
            acked AS (INSERT INTO objects.acks (receiver_id) SELECT unnest($1::text[])),
            counted AS (UPDATE objects.sources SET watchers = watchers + $5 WHERE id = $2)
       INSERT INTO objects.watches (source_id, watcher_id, events, tier, created_by, created_at)
       SELECT $2, unnest($1::text[]), $6, $7, '{}', now()`,
      [ids, source, kind, max_pending, count, events, tier],
    )
    return ids
  }

  async watch(source: string, watcher: string): Promise<void> {
    await this.objects.database.query(
      `WITH counted AS (UPDATE objects.sources SET watchers = watchers + 1 WHERE id = $1)
       INSERT INTO objects.watches (source_id, watcher_id, events, tier, created_by, created_at)
       VALUES ($1, $2, '{}', 'normal', '{}', now())`,
      [source, watcher],
    )
  }

  publish(ref: string, payload: unknown = null, more: PublishOptions = {}): Promise<Acceptance> {
    const { event = 'build.failed', dedupe_key, ctx = ownerCall() } = more
    return this.objects.call('customObjects.publish', { ref, event, payload, ...(dedupe_key && { dedupe_key }) }, ctx)
  }

  async publishBatch(
    ref: string,
    events: readonly { event?: string; payload?: unknown; dedupe_key?: string }[],
    ctx?: Context,
  ): Promise<Acceptance[]> {
    const given = events.map((each) => ({ event: 'build.failed', payload: null, ...each }))
    return (await this.objects.call('customObjects.publishBatch', { ref, events: given }, ctx)).data
  }

  async deliveries(receiver: string): Promise<WrittenDelivery[]> {
    const rows = await this.objects.database.query<Record<keyof WrittenDelivery, string>>(
      'SELECT seq::int, source_id, source_seq::int, tier FROM objects.deliveries WHERE receiver_id = $1 ORDER BY seq',
      [receiver],
    )
    return rows as unknown as WrittenDelivery[]
  }

  events(source: string): Promise<{ seq: number; event: string; payload: unknown }[]> {
    return this.objects.database.query(
      'SELECT seq::int, event, payload, published_by FROM objects.events WHERE source_id = $1 ORDER BY seq',
      [source],
    )
  }

  /** Changes the catalog as an update does: under the lock of the source. */
  async setCatalog(id: string, events: readonly string[]): Promise<void> {
    await this.objects.database.query(
      `WITH locked AS MATERIALIZED (SELECT id FROM objects.sources WHERE id = $1 FOR NO KEY UPDATE)
       UPDATE objects.objects o SET catalog = $2, catalog_version = catalog_version + 1, version = version + 1
       FROM locked WHERE o.id = locked.id`,
      [id, JSON.stringify(events.map((event) => ({ event, description: '', payload_schema: {} })))],
    )
  }
}

export interface PublishOptions {
  readonly event?: string
  readonly dedupe_key?: string
  readonly ctx?: Context
}

export const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n)
