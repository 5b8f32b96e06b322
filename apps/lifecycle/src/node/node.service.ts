import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type Node, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { cursorAfter, pageOf, readCursor } from '#common/kernel/database/cursor.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { type ReadAttachment, readAttachments } from '../attachment/attachment.content.js'
import { AttachmentRepository } from '../attachment/attachment.repository.js'
import { InProgressStore } from '../broker/in-progress.store.js'
import { JournalRepository } from '../broker/journal.repository.js'
import { SignalHub } from '../broker/signal.hub.js'
import { hangingSince } from '../canvas/hanging.query.js'
import { sourceOf } from '../context/mail.source.js'
import { MailRepository } from '../mail/mail.repository.js'
import { requireMailRoom } from '../mail/mail.room.js'
import { HostRegistry } from '../supervision/host.registry.js'
import { WorktreeHomes } from '../worktree/worktree.home.js'
import { Engagements } from './engagement.service.js'
import { NodeAccess, readsNodesOf } from './node.access.js'
import { type NodeRecord, toNode } from './node.record.js'
import { type NodeFilter, NodeRepository } from './node.repository.js'
import { requireLegal } from './node.rules.js'
import { NodeTransitions } from './node.transition.js'

const list = contract['nodes.list']
const message = contract['nodes.message']
const interrupt = contract['nodes.interrupt']
type Message = InputOf<typeof message>
type Handed = ReturnType<Engagements['hand']>

/** What a person or another node does to a node that exists. */
@Injectable()
export class NodeService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly mail: MailRepository,
    private readonly attachments: AttachmentRepository,
    private readonly journal: JournalRepository,
    private readonly access: NodeAccess,
    private readonly engagements: Engagements,
    private readonly transitions: NodeTransitions,
    private readonly signals: SignalHub,
    private readonly inProgress: InProgressStore,
    private readonly hosts: HostRegistry,
    private readonly homes: WorktreeHomes,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async retrieve(ctx: Context, id: string): Promise<Node> {
    const row = await this.nodes.view(this.database, id, hangingSince(this.clock.now()))
    await this.access.requireReadable(ctx, this.database, row)
    return this.show(row, row.attention)
  }

  async list(ctx: Context, input: InputOf<typeof list>): Promise<OutputOf<typeof list>> {
    const { limit, after, hanging, ...filter } = input
    const rows = await this.nodes.list(this.database, {
      ...filter,
      ...(await this.horizon(ctx, filter)),
      ...(hanging !== undefined && { hanging }),
      since: hangingSince(this.clock.now()),
      before: readCursor(after),
      limit: limit + 1,
    })
    const page = pageOf(rows, limit, (row) => cursorAfter(row.created_at, row.id))
    // text on its way is progress that no row shows
    const data = page.data.filter(
      ({ id, status }) => !(hanging && status === 'active' && this.inProgress.isStreaming(id)),
    )
    return { ...page, data: data.map((row) => this.show(row, row.attention)) }
  }

  /** @throws SvcError not_found, illegal_transition (canceled), quota_exceeded */
  async message(ctx: Context, input: Message): Promise<Written<OutputOf<typeof message>>> {
    const read = readAttachments(input.attachments)
    return this.writer.once(ctx, { operation: message.name, input }, async (within) => {
      const { messageId, delivered } = await this.deliver(within, input, read)
      return { message_id: messageId, delivered }
    })
  }

  /** In the transaction of the context; answers the node as it is with the message. @throws SvcError as `message` */
  async deliver(within: TxContext, input: Message, read: readonly ReadAttachment[]): Promise<Handed> {
    const node = await this.admitMessage(within, input.id)
    return this.engagements.hand(within, node, {
      tier: input.tier,
      kind: 'message',
      body: input.body,
      source: sourceOf(within.actor),
      reopens: true,
      attachments: this.attachments.keep(within.tx, read),
    })
  }

  /** The node, locked, when it takes a message from the caller now. @throws SvcError as `message` */
  async admitMessage(within: TxContext, id: string): Promise<NodeRecord> {
    const [node, waiting] = await Promise.all([this.nodes.lock(within.tx, id), this.mail.waiting(within.tx, id)])
    await this.access.requireSameTree(within, within.tx, node)
    requireLegal(node.status, 'message')
    await this.homes.requireUsable(within.tx, node, 'message')
    requireMailRoom(waiting)
    return node
  }

  /** Aborts the running turn, if there is one. @throws SvcError not_found, illegal_transition */
  interrupt(ctx: Context, input: InputOf<typeof interrupt>): Promise<Written<OutputOf<typeof interrupt>>> {
    return this.writer.once(ctx, { operation: interrupt.name, input }, async (within) => {
      const node = await this.nodes.lock(within.tx, input.id)
      await this.access.requireOwn(ctx, within.tx, node)
      requireLegal(node.status, 'interrupt')
      if (node.status === 'idle' || !(await this.journal.hasOpenTurn(within.tx, node.id))) return { interrupted: false }
      this.transitions.change(within, node, { interrupt_request: node.turn })
      within.tx.emit({ nodeId: node.id, type: 'node.interrupted', data: { turn: node.turn } })
      within.tx.afterCommit(() => this.signals.send(node.id, { type: 'interrupt', request: node.turn }))
      return { interrupted: true }
    })
  }

  show(row: NodeRecord, attention?: number): Node {
    return toNode(row, {
      attention,
      streaming: row.status === 'active' && this.inProgress.isStreaming(row.id),
      heartbeatAt: this.hosts.heartbeatOf(row.id, row.generation),
    })
  }

  /**
   * A node is shown its own subtree, and what it asks for must lie within; an app is shown its own nodes. Who names another
   * app, or a node of it, is shown that one's as far as its scopes open them.
   *
   * @throws SvcError not_found
   */
  private async horizon(
    ctx: Context,
    { under, app }: Pick<InputOf<typeof list>, 'under' | 'app'>,
  ): Promise<Pick<NodeFilter, 'under' | 'appId' | 'profile'>> {
    const { kind, nodeId, appId, profile } = ctx.actor
    if (kind === 'owner') return { under }
    const top = under === undefined ? undefined : await this.nodes.find(this.database, under)
    const wanted = top ? top.app_id : (app ?? null)
    if (wanted !== null && readsNodesOf(ctx.actor, wanted)) return { under, appId: wanted }
    if (kind !== 'node') return { under, appId: appId ?? '', profile }
    if (under === undefined) return { under: nodeId }
    await this.access.requireOwn(ctx, this.database, top ?? (await this.nodes.get(this.database, under)))
    return { under }
  }
}
