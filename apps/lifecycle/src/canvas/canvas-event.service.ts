import { randomBytes } from 'node:crypto'
import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { BusConnection } from '#common/kernel/bus/connection.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { toEvent } from '#common/kernel/database/events.js'
import { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { pagesOnTheBus } from '../events/event.service.js'
import { NodeAccess } from '../node/node.access.js'
import { NodeRepository } from '../node/node.repository.js'
import { CanvasEventRepository, type EventScan, type EventView } from './canvas-event.repository.js'
import { before, cursorOf, type EventPosition, oldest, positionOf } from './event.position.js'

const read = contract['lifecycle.canvas.readEvents']
type Input = InputOf<typeof read>
type Answer = OutputOf<typeof read>

/** Events that one request looks at for those that it wants. */
const mostScanned = 2000
/** Events written into another order in one transaction, after a restored backup. */
const settledAtOnce = 20_000
/** A transaction may write its events this long (ms) after it was numbered. */
const lateBy = 2000

interface Bounds {
  readonly limit: number
  /** Events that are looked at. */
  readonly most: number
  /** Whether the caller may see every node. */
  readonly seesAll: boolean
}

/**
 * Behind all that was looked at, for a caller who may not see all of it: behind an event of their own, or before a whole
 * transaction, so that it names no node of somebody else.
 *
 * @param from behind the last event that is shown, else where the look began
 * @param cut whether more follows: only one transaction that is longer than a look is left by an event of its own
 */
const behindAll = ({ last }: EventScan, from: EventPosition, cut: boolean): EventPosition => {
  if (!last) return from
  if (BigInt(from.xid) < BigInt(last.xid)) return before(last.xid)
  return cut ? last : from
}

/** Every event of every node, once each, in an order that a transaction which commits late does not break. */
@Injectable()
export class CanvasEventService {
  constructor(
    private readonly database: Database,
    private readonly writer: Writer,
    private readonly events: CanvasEventRepository,
    private readonly nodes: NodeRepository,
    private readonly access: NodeAccess,
    private readonly connection: BusConnection,
  ) {}

  /**
   * What the caller may see is looked at with each page: a node's token shows its subtree as it is then.
   *
   * @throws SvcError not_found, malformed_request, cursor_expired with `oldest` for a position that this database never gave
   */
  async read(ctx: Context, input: Input): Promise<Answer> {
    const view = await this.viewOf(ctx, input)
    const start = await this.startOf(ctx, input)
    if (start.only) return { events: [], position: cursorOf(start.line, start.position), more: false, pending: false }
    const filtered = Object.values(view).some((value) => value !== undefined)
    const most = filtered ? mostScanned : input.limit
    const scan = await this.events.scan(this.database, view, { after: start.position, limit: input.limit, most })
    const seesAll = ctx.actor.kind === 'owner' || ctx.actor.kind === 'system'
    return this.answerOf(scan, start.position, { limit: input.limit, most, seesAll })
  }

  private answerOf(scan: EventScan, after: EventPosition, { limit, most, seesAll }: Bounds): Answer {
    const rows = pagesOnTheBus(scan.rows, this.connection.maxPayload)
    const whole = rows.length === scan.rows.length && rows.length < limit
    const last = rows.at(-1)
    const shown = last && { xid: last.xid, rootId: last.root_id, treeSeq: last.tree_seq }
    const rest = seesAll ? scan.last : behindAll(scan, shown ?? after, scan.scanned === most)
    const at = whole ? rest : shown
    return {
      events: rows.map((row) => {
        const { root_id: rootId, tree_seq: treeSeq, ...event } = toEvent(row)
        return { ...event, position: cursorOf(scan.line, { xid: row.xid, rootId, treeSeq }) }
      }),
      position: cursorOf(scan.line, at ?? after),
      more: !whole || scan.scanned === most,
      pending: scan.pending,
    }
  }

  private async viewOf(ctx: Context, { under, types }: Input): Promise<EventView> {
    const { kind, nodeId, appId, profile } = ctx.actor
    const top = under ?? (kind === 'node' ? nodeId : undefined)
    if (top === undefined)
      return { types, ...(kind !== 'owner' && kind !== 'system' && { appId: appId ?? '', profile }) }
    const node = await this.nodes.get(this.database, top)
    await this.access.requireReadable(ctx, this.database, node)
    // what a root took over from another one has its earlier events in the tree of that one
    const isWholeTree = node.id === node.root_id && node.succeeds === null
    return { types, ...(isWholeTree ? { rootId: node.id } : { topId: node.id }) }
  }

  private async startOf(
    ctx: Context,
    { after, since, from }: Input,
  ): Promise<{ readonly line: string; readonly position: EventPosition; readonly only?: true }> {
    const facts = await this.factsOf(ctx)
    if (after !== undefined && after !== '0') {
      const { line, position } = positionOf(after)
      const known = line === facts.line && BigInt(position.xid) <= BigInt(facts.beyond)
      if (!known) throw new SvcError('cursor_expired', undefined, { oldest: cursorOf(facts.line, oldest) })
      return { line, position }
    }
    const { line, horizon } = facts
    if (after === '0') return { line, position: oldest }
    if (since !== undefined) return { line, position: await this.firstSince(Date.parse(since), horizon) }
    return from === 'now' ? { line, position: before(horizon), only: true } : { line, position: oldest }
  }

  /** Halves the numbers of transactions: events have no index by time, and need none. */
  private async firstSince(time: number, horizon: string): Promise<EventPosition> {
    let [low, high] = [0n, BigInt(horizon)]
    while (low < high) {
      const middle = (low + high) / 2n
      const at = await this.events.timeAt(this.database, String(middle))
      if (at && at.getTime() < time - lateBy) low = middle + 1n
      else high = middle
    }
    return before(String(low))
  }

  /**
   * Rows that were copied from another database bring numbers that mean nothing here: they are put before all others,
   * and only then positions of the new order are given out. What is cut short here is done by the next reader.
   */
  private async factsOf(ctx: Context): Promise<{ line: string; horizon: string; beyond: string }> {
    const facts = await this.events.facts(this.database)
    if (facts.same) return facts
    await this.writer.transact(ctx, async ({ tx }) => this.events.settleTrees(tx))
    for (let settled = settledAtOnce; settled === settledAtOnce; ) {
      settled = await this.writer.transact(ctx, ({ tx }) => this.events.settleOld(tx, settledAtOnce))
    }
    await this.writer.transact(ctx, async ({ tx }) => this.events.rename(tx, randomBytes(6).toString('hex')))
    return this.events.facts(this.database)
  }
}
