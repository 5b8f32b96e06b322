import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf, type Succession } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { actorRefOf, type Context, systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { KinRepository } from '../cancel/kin.repository.js'
import { MailRepository } from '../mail/mail.repository.js'
import { Engagements } from '../node/engagement.service.js'
import { NodeAccess } from '../node/node.access.js'
import { blank, type NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { requireLegal } from '../node/node.rules.js'
import { NodeService } from '../node/node.service.js'
import { NodeTransitions } from '../node/node.transition.js'
import { grantScopes } from '../node/scope-grant.js'
import { LaunchQueue } from '../supervision/launch.queue.js'
import { WorktreeHomes } from '../worktree/worktree.home.js'
import { ForkRepository } from './fork.repository.js'
import { sourceOf } from './mail.source.js'
import { SuccessionRepository } from './succession.repository.js'
import { TakeOver } from './take-over.service.js'

const recycle = contract['nodes.recycle']
const relaunch = contract['nodes.relaunchRoot']

/**
 * New roots in the place of old ones. Recycled: at once, in one transaction. Relaunched: the new root boots first, and the
 * take-over is a transaction of its own, found again in the rows (`succession` booting) by every look of the supervisor.
 */
@Injectable()
export class SuccessionService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly successions: SuccessionRepository,
    private readonly forks: ForkRepository,
    private readonly mail: MailRepository,
    private readonly kin: KinRepository,
    private readonly access: NodeAccess,
    private readonly homes: WorktreeHomes,
    private readonly transitions: NodeTransitions,
    private readonly engagements: Engagements,
    private readonly takeOver: TakeOver,
    private readonly launches: LaunchQueue,
    private readonly views: NodeService,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  /** @throws SvcError not_found, illegal_transition (no root, ended, being relaunched, its worktree is gone) */
  recycle(ctx: Context, input: InputOf<typeof recycle>): Promise<Written<OutputOf<typeof recycle>>> {
    return this.writer.once(ctx, { operation: recycle.name, input }, async (within) => {
      await this.access.requireOwn(ctx, within.tx, await this.nodes.get(within.tx, input.id))
      const kin = await this.kin.lock(within.tx, input.id)
      await this.requireRoot(within, kin.family.node, 'recycle')
      const root = this.insert(within, kin.family.node, 'taken_over', input.prompt)
      await this.takeOver.perform(within, kin, root)
      within.tx.emit({ nodeId: root.id, type: 'node.recycled', data: { root: input.id, successor: root.id } })
      within.tx.emit({ nodeId: input.id, type: 'node.recycled', data: { root: input.id, successor: root.id } })
      within.tx.afterCommit(() => this.launches.add(root.id))
      return { node: this.views.show(root), recycled: input.id }
    })
  }

  /** @throws SvcError not_found, illegal_transition (no root, ended, being relaunched, its worktree is gone) */
  relaunch(ctx: Context, input: InputOf<typeof relaunch>): Promise<Written<OutputOf<typeof relaunch>>> {
    return this.writer.once(ctx, { operation: relaunch.name, input }, async (within) => {
      const old = await this.nodes.lock(within.tx, input.id)
      await this.access.requireOwn(ctx, within.tx, old)
      await this.requireRoot(within, old, 'relaunch')
      const root = this.insert(within, old, 'booting', input.prompt)
      for (const nodeId of [old.id, root.id]) {
        within.tx.emit({ nodeId, type: 'node.relaunching', data: { root: old.id, successor: root.id } })
      }
      within.tx.afterCommit(() => this.launches.add(root.id))
      return { node: this.views.show(root), relaunches: old.id }
    })
  }

  /** Brings every relaunch forward that can go on, and ends those that can't. */
  async reconcile(): Promise<void> {
    for (const { id, succeeds } of await this.successions.booting(this.database)) {
      try {
        await this.settle(id, succeeds)
      } catch (err) {
        if (hasCode(err, 'not_leader')) throw err
        this.log.error({ err, node_id: id }, 'a root could not take the place of another yet; trying again')
      }
    }
  }

  /** The next step of one relaunch, as the rows are now. */
  async settle(id: string, oldId: string): Promise<void> {
    await this.writer.transact(systemContext('lifecycle'), async (ctx) => {
      const old = await this.nodes.find(ctx.tx, oldId)
      const kin = old && (await this.kin.lock(ctx.tx, oldId, [id]))
      const root = await this.nodes.lock(ctx.tx, id)
      if (root.succession !== 'booting') return
      const status = kin?.family.node.status
      if (status === undefined || status === 'done' || status === 'canceled') {
        return this.fail(ctx, root, kin?.family.node, `the root that it was to follow is ${status ?? 'gone'}`)
      }
      if (root.status !== 'active') return this.fail(ctx, root, kin?.family.node, `it is ${root.status}`)
      if (root.broker_state !== 'bound') return
      const live = this.transitions.change(ctx, root, { succession: 'taken_over' })
      await this.takeOver.perform(ctx, kin as NonNullable<typeof kin>, live, { cancelBelow: true })
      for (const nodeId of [oldId, id]) {
        ctx.tx.emit({ nodeId, type: 'node.relaunched', data: { root: oldId, successor: id } })
      }
    })
  }

  /** Nothing but the new root has changed until here, and that one ends: whoever closed the old one wants none. */
  private async fail(ctx: TxContext, root: NodeRecord, old: NodeRecord | undefined, reason: string): Promise<void> {
    const failed = this.transitions.change(ctx, root, { succession: 'failed' })
    const data = { root: root.succeeds, successor: root.id, reason }
    if (old) ctx.tx.emit({ nodeId: old.id, type: 'node.relaunch_failed', data })
    ctx.tx.emit({ nodeId: root.id, type: 'node.relaunch_failed', data })
    if (root.status === 'active' || root.status === 'idle')
      this.engagements.cancel(ctx, { node: failed, subscribers: [] })
  }

  private async requireRoot(ctx: TxContext, node: NodeRecord, operation: 'recycle' | 'relaunch'): Promise<void> {
    const illegal = (state: string, message: string): never => {
      throw new SvcError('illegal_transition', message, { state, event: operation })
    }
    if (node.parent_id !== null)
      illegal('child', `Only a root takes ${operation}: ${node.id} works for ${node.parent_id}.`)
    requireLegal(node.status, operation)
    if (node.succession === 'booting') illegal('booting', 'This root is about to take the place of another one.')
    if (await this.successions.hasSuccessor(ctx.tx, node.id, 'booting')) {
      illegal('relaunching', 'A new root is about to take its place already.')
    }
    await this.homes.requireUsable(ctx.tx, node, operation)
  }

  /** The new root, as the old one was made; the mandate is kept with it. */
  private insert(ctx: TxContext, old: NodeRecord, succession: Succession, prompt: string | undefined): NodeRecord {
    const { tx, actor } = ctx
    const at = new Date(this.clock.now())
    const id = newId('node')
    // whoever asks gives no node more than they have
    const held = grantScopes(actor.scopes, old.scopes, undefined)
    const root = successorOf(old, { id, succession, scopes: held, at })
    this.nodes.insert(tx, root)
    this.nodes.recordTransition(tx, {
      nodeId: id,
      version: 1,
      event: 'create',
      from: null,
      to: 'active',
      intent: null,
      actor: actorRefOf(actor),
      at,
    })
    this.forks.copyMandate(tx, old.id, id, at)
    const { name, kind, mode, lifecycle, engine, cwd, parent_id, scopes, succeeds } = root
    const shown = { name, kind, mode, lifecycle, engine, cwd, parent_id, scopes, succeeds, succession }
    tx.emit({ nodeId: id, type: 'node.created', data: shown })
    if (prompt !== undefined) {
      const given = { nodeId: id, engagement: 1, kind: 'prompt', at, source: sourceOf(actor) } as const
      this.mail.append(tx, { ...given, tier: 'normal', body: prompt })
    }
    return root
  }
}

const successorOf = (
  old: NodeRecord,
  made: Pick<NodeRecord, 'id' | 'succession' | 'scopes'> & { at: Date },
): NodeRecord => ({
  ...blank,
  id: made.id,
  name: old.name,
  description: old.description,
  kind: old.kind,
  persona: old.persona,
  mode: old.mode,
  lifecycle: 'resident',
  status: 'active',
  parent_id: null,
  root_id: made.id,
  depth: old.depth,
  spawned_by: old.spawned_by,
  engine: old.engine,
  exec: old.exec,
  cwd: old.cwd,
  model: old.model,
  scopes: made.scopes,
  scopes_explicit: old.scopes_explicit,
  principal: old.principal,
  app_id: old.app_id,
  profile: old.profile,
  run_id: old.run_id,
  env_profile: old.env_profile,
  cycles: 1,
  generation: 1,
  engagement: 1,
  broker_state: 'launching',
  result_schema: null,
  succeeds: old.id,
  succession: made.succession,
  created_at: made.at,
  updated_at: made.at,
})
