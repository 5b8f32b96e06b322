import { Inject, Injectable } from '@nestjs/common'
import { careLimits, contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { cursorAfter, pageOf, readCursor } from '#common/kernel/database/cursor.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { NodeAccess } from '../node/node.access.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { requireLegal } from '../node/node.rules.js'
import { otherSide, type SubscriptionRecord, SubscriptionRepository } from './subscription.repository.js'

const put = contract['canvas.subscriptions.put']
const remove = contract['canvas.subscriptions.delete']
const list = contract['canvas.subscriptions.list']

interface Pair {
  readonly subscriber: string
  readonly publisher: string
}

const refuse = (pointer: string, message: string): never => {
  throw new SvcError('validation_failed', undefined, { errors: [{ pointer, message }] })
}

const shown = (row: SubscriptionRecord): OutputOf<typeof put> => ({
  subscriber: row.subscriber,
  publisher: row.publisher,
  mode: row.mode,
  created_at: row.created_at.toISOString(),
})

/**
 * Who hears of whom. One row for each two nodes, so that nothing is told twice; both are locked by whoever changes it, so
 * that it stands or falls with a cancel of either.
 */
@Injectable()
export class SubscriptionService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly subscriptions: SubscriptionRepository,
    private readonly access: NodeAccess,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError validation_failed (itself), not_found, illegal_transition (one was canceled), quota_exceeded */
  put(ctx: Context, input: InputOf<typeof put>): Promise<OutputOf<typeof put>> {
    const { subscriber, publisher, mode } = input
    if (subscriber === publisher) refuse('/publisher', 'must be another one: a node knows what it does itself')
    return this.writer.transact(ctx, async (within) => {
      for (const node of await this.locked(within, input)) requireLegal(node.status, 'watch')
      const known = await this.subscriptions.find(within.tx, subscriber, publisher)
      if (known && known.mode === mode) return shown(known)
      if (!known) await this.requireRoom(within, publisher)
      const row = { subscriber, publisher, mode, created_at: known?.created_at ?? new Date(this.clock.now()) }
      this.subscriptions.put(within.tx, row)
      this.tell(within, input, 'subscription.added', { mode, previous_mode: known?.mode ?? null })
      return shown(row)
    })
  }

  /** @throws SvcError not_found */
  remove(ctx: Context, input: InputOf<typeof remove>): Promise<OutputOf<typeof remove>> {
    return this.writer.transact(ctx, async (within) => {
      await this.locked(within, input)
      const known = await this.subscriptions.find(within.tx, input.subscriber, input.publisher)
      if (!known) return { removed: false }
      this.subscriptions.remove(within.tx, input.subscriber, input.publisher)
      this.tell(within, input, 'subscription.removed', { mode: known.mode })
      return { removed: true }
    })
  }

  /** @throws SvcError validation_failed (neither side is named), not_found */
  async list(ctx: Context, input: InputOf<typeof list>): Promise<OutputOf<typeof list>> {
    const { limit, after, ...filter } = input
    const named = [filter.subscriber, filter.publisher].filter((id) => id !== undefined)
    if (named.length === 0) refuse('/subscriber', 'must be given, or publisher')
    for (const id of named) await this.access.requireOwn(ctx, this.database, await this.nodes.get(this.database, id))
    const rows = await this.subscriptions.page(this.database, filter, readCursor(after), limit + 1)
    const page = pageOf(rows, limit, (row) => cursorAfter(row.created_at, row[otherSide(filter)]))
    return { ...page, data: page.data.map(shown) }
  }

  /** Both, locked: a node below the caller, or itself, hears of any node of its tree. */
  private async locked(ctx: TxContext, { subscriber, publisher }: Pair): Promise<NodeRecord[]> {
    const rows = await this.nodes.lockAll(ctx.tx, [subscriber, publisher])
    const found = (id: string): NodeRecord => rows.get(id) ?? refuseMissing(id)
    await this.access.requireOwn(ctx, ctx.tx, found(subscriber))
    await this.access.requireSameTree(ctx, ctx.tx, found(publisher))
    return [...rows.values()]
  }

  private async requireRoom(ctx: TxContext, publisher: string): Promise<void> {
    if ((await this.subscriptions.watchersOf(ctx.tx, publisher)) < careLimits.watchers) return
    throw new SvcError('quota_exceeded', `At most ${careLimits.watchers} nodes watch one node.`, {
      limit: 'watchers',
      max: careLimits.watchers,
    })
  }

  private tell(
    ctx: TxContext,
    { subscriber, publisher }: Pair,
    type: 'subscription.added' | 'subscription.removed',
    data: Record<string, unknown>,
  ): void {
    for (const nodeId of [subscriber, publisher])
      ctx.tx.emit({ nodeId, type, data: { subscriber, publisher, ...data } })
  }
}

const refuseMissing = (id: string): never => {
  throw new SvcError('not_found', `There is no node ${id}.`, { resource: 'node', id })
}
