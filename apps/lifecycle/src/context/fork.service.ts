import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type Node, nodeLimits } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { actorRefOf, type Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { MailRepository } from '../mail/mail.repository.js'
import { Engagements } from '../node/engagement.service.js'
import { ModelCheck } from '../node/model-check.js'
import { NodeAccess } from '../node/node.access.js'
import { requireDepth, requireRoom } from '../node/node.quota.js'
import { reachOfApp, requireReach } from '../node/node.reach.js'
import { blank, type NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { requireLegal } from '../node/node.rules.js'
import { NodeService } from '../node/node.service.js'
import { grantScopes } from '../node/scope-grant.js'
import { RoadmapRepository } from '../roadmap/roadmap.repository.js'
import { SandboxGate } from '../sandbox/sandbox.gate.js'
import { LaunchQueue } from '../supervision/launch.queue.js'
import { WorktreeHomes } from '../worktree/worktree.home.js'
import { requireConversation } from './context.service.js'
import { ForkRepository, type TurnEnd } from './fork.repository.js'
import { forkText } from './fork.text.js'
import { sourceOf } from './mail.source.js'

const operation = contract['nodes.fork']
type Fork = InputOf<typeof operation>

/** Where the copy stands. */
interface Place {
  readonly source: NodeRecord
  readonly parent: NodeRecord | null
  /** The node that asks, if it is one. */
  readonly asker: NodeRecord | null
}

/** Makes a node of the conversation of another one. The source is read under its lock, and not changed. */
@Injectable()
export class ForkService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly forks: ForkRepository,
    private readonly roadmaps: RoadmapRepository,
    private readonly mail: MailRepository,
    private readonly access: NodeAccess,
    private readonly models: ModelCheck,
    private readonly homes: WorktreeHomes,
    private readonly sandbox: SandboxGate,
    private readonly engagements: Engagements,
    private readonly launches: LaunchQueue,
    private readonly views: NodeService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * The new node, its conversation, its edges, its first mail and the events are one transaction.
   *
   * @throws SvcError not_found (node, parent, turn), validation_failed (a program, a turn that has not ended),
   * illegal_transition (a parent that was canceled, a worktree that is gone), quota_exceeded, model_not_configured,
   * sandbox_required, path_outside_scope
   */
  async fork(ctx: Context, input: Fork): Promise<Written<Node>> {
    if (input.root && input.parent_id) refuse('/root', 'a root has no parent_id')
    if (input.prompt === undefined && input.lifecycle === 'terminal') {
      refuse('/lifecycle', 'one that is given nothing to do is resident')
    }
    const refusal = await this.refusalOf(ctx, input)
    return this.writer.once(ctx, { operation: operation.name, input }, async (within) => {
      if (refusal) throw refusal
      const place = await this.placeOf(within, input)
      const end = await this.endOf(within, place.source, input.turn)
      const node = this.build(ctx, input, place, end)
      await this.homes.requireUsable(within.tx, node, 'fork')
      await this.sandbox.requireSomewhere(within.tx, node)
      return this.views.show(this.write(within, node, place.source, end, input))
    })
  }

  /** Whether its model can be served; nobody is asked for a node that the caller may not see. */
  private async refusalOf(ctx: Context, input: Fork): Promise<SvcError | undefined> {
    const source = await this.nodes.find(this.database, input.id)
    if (source?.engine !== 'loop') return undefined
    try {
      await this.access.requireOwn(ctx, this.database, source)
      await this.models.require(ctx, input.model ?? source.model)
      return undefined
    } catch (error) {
      if (hasCode(error, 'model_not_configured', 'not_found')) return error
      throw error
    }
  }

  private async placeOf(ctx: TxContext, input: Fork): Promise<Place> {
    const { actor, tx } = ctx
    const found = await this.nodes.get(tx, input.id)
    await this.access.requireOwn(ctx, tx, found)
    const parentId = input.root ? null : (input.parent_id ?? (await this.defaultParent(ctx, found)))
    const wanted = [found.id, parentId, actor.nodeId].filter((id) => id != null)
    const rows = await this.nodes.lockAll(tx, [...new Set(wanted)])
    const source = rows.get(found.id) ?? missing(found.id)
    requireLegal(source.status, 'fork')
    requireConversation(source)
    const asker = actor.nodeId === undefined ? null : (rows.get(actor.nodeId) ?? missing(actor.nodeId))
    const parent = parentId === null ? null : (rows.get(parentId) ?? missing(parentId))
    if (parent) {
      await this.access.requireOwn(ctx, tx, parent)
      requireLegal(parent.status, 'spawn')
      await requireRoom(this.nodes, tx, parent)
    } else if (asker) requireDepth(asker)
    if (actor.kind === 'app') requireReach(reachOfApp(actor, source), source.cwd)
    // what it may write now: the grant of its app may have been narrowed since it was made
    if (asker) requireReach({ ...asker, scopes: [...actor.scopes] }, source.cwd)
    return { source, parent, asker }
  }

  /** Beside its source where the caller reaches what is above that, else below the caller. */
  private async defaultParent(ctx: TxContext, source: NodeRecord): Promise<string | null> {
    const { nodeId } = ctx.actor
    if (nodeId === undefined) return source.parent_id
    if (source.parent_id === null) return nodeId
    return (await this.nodes.isWithin(ctx.tx, source.parent_id, nodeId)) ? source.parent_id : nodeId
  }

  private async endOf(ctx: TxContext, source: NodeRecord, turn: number | undefined): Promise<TurnEnd> {
    const end = await this.forks.turnEnd(ctx.tx, source.id, source.context_from, turn)
    if (end) return end
    if (turn === undefined) return refuse('/id', 'has ended no turn in its present context')
    if (turn > source.turn || !(await this.forks.hasTurn(ctx.tx, source.id, turn))) {
      throw new SvcError('not_found', `The node ${source.id} has no turn ${turn}.`, { resource: 'turn', turn })
    }
    return refuse('/turn', `turn ${turn} has not ended, or belongs to a context that was closed`)
  }

  private build(ctx: Context, input: Fork, { source, parent, asker }: Place, end: TurnEnd): NodeRecord {
    const at = new Date(this.clock.now())
    const id = newId('node')
    const maker = parent ?? asker
    const model = input.model ?? source.model
    const given = input.prompt !== undefined
    return {
      ...blank,
      id,
      name: input.name ?? `Fork of ${source.name}`.slice(0, nodeLimits.nameLength),
      kind: source.kind,
      persona: source.persona,
      mode: source.mode,
      lifecycle: given ? (input.lifecycle ?? (parent ? 'terminal' : 'resident')) : 'resident',
      status: 'active',
      parent_id: parent?.id ?? null,
      root_id: parent?.root_id ?? id,
      depth: maker ? maker.depth + 1 : 0,
      spawned_by: ctx.actor.nodeId ?? ctx.actor.principal,
      forked_from: { node_id: source.id, turn: end.turn },
      engine: source.engine,
      exec: null,
      cwd: source.cwd,
      model: {
        strength: model.strength ?? 'medium',
        ...(model.override !== undefined && { override: model.override }),
      },
      scopes: grantScopes(
        ctx.actor.scopes,
        maker ? grantScopes(maker.scopes, source.scopes, undefined) : source.scopes,
        undefined,
      ),
      scopes_explicit: source.scopes_explicit,
      principal: source.principal,
      app_id: source.app_id,
      profile: source.profile,
      env_profile: source.env_profile,
      cycles: given ? 1 : 0,
      generation: 1,
      engagement: 1,
      turn: end.turn,
      copied_ord: end.ord - source.context_from + 1,
      broker_state: given ? 'launching' : null,
      result_schema: null,
      created_at: at,
      updated_at: at,
    }
  }

  private write(ctx: TxContext, node: NodeRecord, source: NodeRecord, end: TurnEnd, { prompt }: Fork): NodeRecord {
    const { tx, actor } = ctx
    const at = node.created_at
    this.nodes.insert(tx, node)
    this.nodes.recordTransition(tx, {
      nodeId: node.id,
      version: 1,
      event: 'create',
      from: null,
      to: 'active',
      intent: null,
      actor: actorRefOf(actor),
      at,
    })
    this.forks.copyJournal(tx, { source: source.id, target: node.id, from: source.context_from, to: end.ord })
    this.forks.copyMandate(tx, source.id, node.id, at)
    this.roadmaps.copy(tx, source.id, node.id, at)
    if (node.parent_id !== null) this.nodes.subscribe(tx, node.parent_id, node.id, 'active')
    const first = { nodeId: node.id, engagement: 1, kind: 'prompt', at } as const
    const body = forkText(node, source, end.turn)
    const identity = this.mail.append(tx, { ...first, tier: 'deferred', body, source: { kind: 'system', id: null } })
    const given =
      prompt === undefined
        ? identity
        : this.mail.append(tx, { ...first, tier: 'normal', body: prompt, source: sourceOf(actor) })
    const { name, kind, mode, lifecycle, engine, cwd, parent_id, scopes, forked_from } = node
    const shown = { name, kind, mode, lifecycle, engine, cwd, parent_id, scopes, forked_from, message_id: given }
    tx.emit({ nodeId: node.id, type: 'node.created', data: shown })
    tx.emit({ nodeId: node.id, type: 'node.forked', data: { source: source.id, turn: end.turn, fork: node.id } })
    tx.emit({ nodeId: source.id, type: 'node.forked', data: { source: source.id, turn: end.turn, fork: node.id } })
    if (prompt === undefined) return this.engagements.release(ctx, node)
    tx.afterCommit(() => this.launches.add(node.id))
    return node
  }
}

const missing = (id: string): never => {
  throw new SvcError('not_found', `There is no node ${id}.`, { resource: 'node', id })
}

const refuse = (pointer: string, message: string): never => {
  throw new SvcError('validation_failed', undefined, { errors: [{ pointer, message }] })
}
