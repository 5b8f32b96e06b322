import { waitFor } from '#common/testing/wait-for.js'
import type { LifecycleUnderTest } from '../../../../test/support/lifecycle-service.js'
import { type ObjectsUnderTest, ownerCall } from '../../../../test/support/objects-service.js'

/** An event as a node finds it. */
export interface Mail {
  readonly body: string
  readonly source: { readonly kind: string; readonly id: string; readonly name?: string }
}

/** What is done with nodes that watch, and how one sees what came of it. */
export const watchingOf = (lifecycle: () => LifecycleUnderTest, objects: () => ObjectsUnderTest) => {
  let names = 0
  const register = (receiver: object | null = null) =>
    objects().call(
      'objects.object.register',
      {
        name: `sensor-${++names}`,
        description: '',
        catalog: [{ event: 'changed', description: '', payload_schema: {} }],
        receiver,
        app_id: null,
        watches: [],
        rotate: false,
      },
      ownerCall({ idempotencyKey: `register-${names}` }),
    )
  const queue = { type: 'queue', max_pending: 100 }
  const watch = (watcher: string, source: string, more: object = {}) =>
    objects().call('canvas.watches.put', { watcher, source, events: null, tier: 'normal', ...more })
  const publish = (ref: string, payload: unknown, ctx = ownerCall()) =>
    objects().call('customObjects.publish', { ref, event: 'changed', payload }, ctx)
  const rows = <T>(sql: string, values: unknown[] = []) => objects().database.query<T>(sql, values)
  const watchesOf = (id: string) => rows('SELECT 1 FROM objects.watches WHERE $1 IN (watcher_id, source_id)', [id])
  const watchers = async (id: string) =>
    (await rows<{ watchers: number }>('SELECT watchers FROM objects.sources WHERE id = $1', [id]))[0]?.watchers
  const mailOf = (nodeId: string) =>
    lifecycle().database.query<Mail>(
      `SELECT body, source FROM canvas.mail WHERE node_id = '${nodeId}' AND kind = 'event' ORDER BY seq`,
    )
  const told = (nodeId: string, count: number) =>
    waitFor(
      async () => {
        const mail = await mailOf(nodeId)
        return mail.length >= count && mail
      },
      { what: `${count} events in the box of ${nodeId}` },
    )
  const payloads = (mail: readonly Mail[]) => mail.map(({ body }) => JSON.parse(body.slice(body.indexOf('\n\n') + 2)))
  const unacked = async (id: string) =>
    (
      await rows<{ left: number }>(
        `SELECT (r.delivery_seq - a.acked_count)::int AS left FROM objects.receivers r JOIN objects.acks a ON a.receiver_id = r.id
        WHERE r.id = $1`,
        [id],
      )
    )[0]?.left
  const allAcked = (id: string) => waitFor(async () => (await unacked(id)) === 0, { what: `all of ${id} to be acked` })
  const write = async (sql: string) => {
    const { epoch } = await lifecycle().call('lifecycle.status', {})
    return lifecycle().database.query(`SET svc.epoch = '${epoch}'; ${sql}`)
  }
  /** A resident that rests after its first turn. */
  const resting = async () => {
    const { node, broker, assignment } = await lifecycle().running({ lifecycle: 'resident' })
    await broker.turn(1, assignment.mail)
    return lifecycle().until(node.id, 'idle')
  }
  return {
    register,
    queue,
    watch,
    publish,
    rows,
    watchesOf,
    watchers,
    mailOf,
    told,
    payloads,
    allAcked,
    write,
    resting,
  }
}
