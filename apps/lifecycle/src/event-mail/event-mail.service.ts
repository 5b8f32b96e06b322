import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { nodeLimits } from '#common/contract/node.schema.js'
import type { HandedEvent } from '#common/contract/object.internal.js'
import type { Context } from '#common/kernel/context.js'
import type { Tx } from '#common/kernel/database/tx.js'
import { type TxContext, Writer } from '#common/kernel/database/writer.js'
import { Engagements } from '../node/engagement.service.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { EventMailRepository } from './event-mail.repository.js'
import { eventText } from './event-mail.text.js'

const hand = contract['lifecycle.events.hand']
type Outcome = OutputOf<typeof hand>['outcomes'][number]['outcome']

/** The box of a node while deliveries are put into it. */
interface Box {
  node: NodeRecord
  unread: number
}

/** What a request finds when it holds the locks of all nodes that it is for. */
interface Scene {
  /** By whom a delivery is for: his own, or that of the root that took his place. */
  readonly boxes: ReadonlyMap<string, Box>
  /** Whose place was taken while the locks were waited for. */
  readonly followed: ReadonlySet<string>
  /** Deliveries that have become mail. */
  readonly taken: Set<string>
}

/** Events of what nodes watch become their mail. */
@Injectable()
export class EventMail {
  constructor(
    private readonly writer: Writer,
    private readonly nodes: NodeRepository,
    private readonly deliveries: EventMailRepository,
    private readonly engagements: Engagements,
  ) {}

  /**
   * Each delivery becomes one mail, however often it is handed over: what was taken is on record in the transaction that
   * writes the mail. Those of one node become mail in the order given; behind one that found no room none does. What is for a
   * root that gave its place to another is that one's.
   */
  hand(ctx: Context, { deliveries }: InputOf<typeof hand>): Promise<OutputOf<typeof hand>> {
    return this.writer.transact(ctx, async (within) => {
      const { tx } = within
      const scene = await this.look(tx, deliveries)
      const names = await this.deliveries.names(tx, nodesWithoutName(deliveries))
      const fresh: string[] = []
      const outcomes = deliveries.map((delivery) => {
        const { id, source } = delivery
        const named = { ...delivery, source: { ...source, name: source.name ?? names.get(source.id) ?? null } }
        const outcome = this.put(within, scene, named)
        if (outcome === 'accepted' && !scene.taken.has(id)) {
          scene.taken.add(id)
          fresh.push(id)
        }
        return { id, outcome }
      })
      if (fresh.length) this.deliveries.take(tx, fresh)
      return { outcomes }
    })
  }

  private async look(tx: Tx, deliveries: readonly HandedEvent[]): Promise<Scene> {
    const ids = [...new Set(deliveries.map(({ node_id }) => node_id))]
    const heirs = await this.deliveries.heirs(tx, ids)
    const nodes = await this.nodes.lockAll(tx, [...new Set(heirs.values())])
    // read behind the locks: a twin of this request has either written all of it by now, or waits for them
    const [now, taken, unread] = await Promise.all([
      this.deliveries.heirs(tx, ids),
      this.deliveries.taken(
        tx,
        deliveries.map(({ id }) => id),
      ),
      this.deliveries.unread(tx, [...nodes.keys()]),
    ])
    const boxOf = new Map([...nodes].map(([id, node]) => [id, { node, unread: unread.get(id) ?? 0 }]))
    const boxes = ids.flatMap((id) => {
      const box = boxOf.get(heirs.get(id) as string)
      return box ? [[id, box] as const] : []
    })
    return { boxes: new Map(boxes), followed: new Set(ids.filter((id) => now.get(id) !== heirs.get(id))), taken }
  }

  private put(within: TxContext, { boxes, followed, taken }: Scene, delivery: HandedEvent): Outcome {
    if (taken.has(delivery.id)) return 'accepted'
    const box = boxes.get(delivery.node_id)
    // later it goes to the one that follows
    if (followed.has(delivery.node_id)) return 'full'
    if (!box || takesNothing(box.node)) return 'gone'
    if (box.unread >= nodeLimits.unreadMail) return 'full'
    const { node } = this.engagements.hand(onBehalf(within, delivery), box.node, {
      tier: delivery.tier,
      kind: 'event',
      body: eventText(delivery),
      source: sourceOf(delivery),
      reopens: false,
    })
    box.node = node
    box.unread += 1
    return 'accepted'
  }
}

const isNode = (id: string): boolean => id.startsWith('node_')

const nodesWithoutName = (deliveries: readonly HandedEvent[]): string[] => [
  ...new Set(deliveries.flatMap(({ source: { id, name } }) => (name === null && isNode(id) ? [id] : []))),
]

/** A node that died may be brought back, and finds then what it missed; the work of others has ended. */
const takesNothing = ({ status }: NodeRecord): boolean => status === 'done' || status === 'canceled'

/** What is written of a delivery belongs to the request that published its event. */
const onBehalf = ({ traceparent: _, ...within }: TxContext, delivery: HandedEvent): TxContext => ({
  ...within,
  ...(delivery.request_id !== null && { requestId: delivery.request_id }),
  ...(delivery.traceparent !== null && { traceparent: delivery.traceparent }),
})

const sourceOf = ({ source: { id, name }, event_id, event, traceparent }: HandedEvent) => ({
  kind: isNode(id) ? ('node' as const) : ('object' as const),
  id,
  ...(name !== null && { name }),
  event: { id: event_id, name: event, trace_id: traceparent?.split('-')[1] ?? null },
})
