import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type Node } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { actorRefOf, type Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { type ReadAttachment, readAttachments } from '../attachment/attachment.content.js'
import { AttachmentRepository, type KeptAttachment } from '../attachment/attachment.repository.js'
import { MailRepository } from '../mail/mail.repository.js'
import { type KindDefaults, KindService } from '../persona/kind.service.js'
import { ProfileService } from '../profile/profile.service.js'
import { RoadmapService } from '../roadmap/roadmap.service.js'
import { SandboxGate } from '../sandbox/sandbox.gate.js'
import { LaunchQueue } from '../supervision/launch.queue.js'
import { WorktreeHomes } from '../worktree/worktree.home.js'
import { type MadePlace, WorktreeMaking } from '../worktree/worktree.making.js'
import { toWorktree } from '../worktree/worktree.record.js'
import { ModelCheck } from './model-check.js'
import { NodeAccess } from './node.access.js'
import { handleOf } from './node.handle.js'
import { requireDepth, requireRoom } from './node.quota.js'
import { reachOfApp, requireReach } from './node.reach.js'
import { blank, type NodeRecord, toNode } from './node.record.js'
import { NodeRepository } from './node.repository.js'
import { requireLegal } from './node.rules.js'
import { SchemaChecker } from './schema.checker.js'
import { grantScopes } from './scope-grant.js'

const create = contract['nodes.create']
type Create = InputOf<typeof create>

/** Where a node comes from: its parent, none for a root; and the node that it has its authority from, if one made it. */
interface Origin {
  readonly parent: NodeRecord | null
  readonly maker: NodeRecord | null
}

/** Why others say that it can't be made, or where its worktree would stand. */
interface Prepared {
  readonly refusal?: SvcError
  readonly place?: MadePlace | undefined
  readonly kind?: KindDefaults
}

/** A creation as far as it can be decided before its transaction: others were asked, and the body has its defaults. */
export interface PlannedNode extends Prepared {
  readonly id: string
  readonly input: Create
  readonly attachments: readonly ReadAttachment[]
}

interface AdmittedNode {
  readonly node: NodeRecord
  readonly parent: NodeRecord | null
}

/**
 * The model that its maker names; else the strength of its kind, else of its parent. A parent's own `provider/model` goes
 * on to its children: who chose it meant their work too.
 */
const modelFor = (
  { model }: Create,
  kind: KindDefaults,
  parent: NodeRecord | null | undefined,
): NodeRecord['model'] => {
  const override = model ? model.override : parent?.model.override
  const strength = model ? model.strength : (kind.strength ?? parent?.model.strength)
  return { strength: strength ?? 'medium', ...(override !== undefined && { override }) }
}

const refuse = (pointer: string, message: string): never => {
  throw new SvcError('validation_failed', undefined, { errors: [{ pointer, message }] })
}

@Injectable()
export class CreateNodeService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly mail: MailRepository,
    private readonly attachments: AttachmentRepository,
    private readonly access: NodeAccess,
    private readonly models: ModelCheck,
    private readonly schemas: SchemaChecker,
    private readonly profiles: ProfileService,
    private readonly kinds: KindService,
    private readonly launches: LaunchQueue,
    private readonly worktrees: WorktreeMaking,
    private readonly homes: WorktreeHomes,
    private readonly sandbox: SandboxGate,
    private readonly roadmaps: RoadmapService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Checks everything, then writes the node, its edges, its first mail and its events in one transaction; its process
   * is started after commit.
   *
   * @throws SvcError as `plan` and `admit`
   */
  async create(ctx: Context, asked: Create): Promise<Written<Node>> {
    const planned = await this.plan(ctx, asked)
    return this.writer.once(ctx, { operation: create.name, input: asked }, async (within) => {
      const { node } = await this.write(within, planned)
      return toNode(node, { streaming: false, heartbeatAt: null })
    })
  }

  /**
   * What comes before the transaction: others are asked, which may take long. What they refuse is thrown by `admit`, since
   * a repeated request is given its first answer whatever has changed since.
   *
   * @throws SvcError validation_failed
   */
  async plan(ctx: Context, asked: Create): Promise<PlannedNode> {
    const attachments = readAttachments(asked.attachments)
    const id = newId('node')
    return { id, attachments, ...(await this.profiled(ctx, id, asked)) }
  }

  /**
   * The node as it would be made now; writes nothing.
   *
   * @throws SvcError validation_failed, scope_exceeds_ceiling, not_found (parent, profile), quota_exceeded, model_not_configured,
   * sandbox_required, path_outside_scope, worktree_refused, illegal_transition (a parent that was canceled, or whose tree is gone)
   */
  async admit(within: TxContext, { id, input, refusal, place, kind }: PlannedNode): Promise<AdmittedNode> {
    if (refusal) throw refusal
    const origin = await this.originOf(within, input)
    const { parent } = origin
    const node = this.build(within, { ...input, id, place, defaults: kind as KindDefaults }, origin)
    await this.homes.requireUsable(within.tx, node, 'spawn')
    await this.sandbox.requireSomewhere(within.tx, node)
    await this.requirePlace(within, node, parent)
    return { node, parent }
  }

  /** In the transaction of the context; answers the id of its first mail too. @throws SvcError as `admit` */
  async write(within: TxContext, planned: PlannedNode): Promise<{ node: NodeRecord; messageId: string }> {
    const { id, input, place } = planned
    const { node, parent } = await this.admit(within, planned)
    this.nodes.insert(within.tx, node)
    this.nodes.recordTransition(within.tx, {
      nodeId: node.id,
      version: 1,
      event: 'create',
      from: null,
      to: 'active',
      intent: null,
      actor: actorRefOf(within.actor),
      at: node.created_at,
    })
    if (parent) this.nodes.subscribe(within.tx, parent.id, node.id, 'active')
    const kept = this.attachments.keep(within.tx, planned.attachments)
    const messageId = this.deliverPrompt(within, node, input.prompt, kept)
    if (node.mode === 'orchestrator') await this.roadmaps.seed(within, node, undefined, async () => input.prompt)
    within.tx.afterCommit(() => (place ? this.worktrees.begin(id) : this.launches.add(id)))
    return { node, messageId }
  }

  /** The body with the defaults of its profile, and what others say of it. */
  private async profiled(ctx: Context, id: string, asked: Create): Promise<{ input: Create } & Prepared> {
    if (asked.env_profile === undefined) {
      this.check(asked)
      return { input: asked, ...(await this.prepare(ctx, id, asked)) }
    }
    try {
      const input = await this.profiles.applied(ctx, asked)
      this.check(input)
      return { input, ...(await this.prepare(ctx, id, input)) }
    } catch (error) {
      if (hasCode(error, 'validation_failed', 'not_found')) return { input: asked, refusal: error }
      throw error
    }
  }

  /** What others are asked: where its worktree would stand, or why this node can't be made now. */
  private async prepare(ctx: Context, id: string, input: Create): Promise<Prepared> {
    try {
      const kind = await this.kinds.require(input.kind ?? 'general')
      if (input.result_schema) await this.schemas.requireUsable(input.result_schema)
      if ((input.engine ?? 'loop') === 'loop') {
        await this.models.require(ctx, await this.modelOf(ctx, input, kind))
      }
      return { kind, place: await this.worktrees.prepare(ctx, id, input) }
    } catch (error) {
      if (hasCode(error, 'validation_failed', 'model_not_configured', 'worktree_refused', 'path_outside_scope'))
        return { refusal: error }
      throw error
    }
  }

  private async modelOf(ctx: Context, input: Create, kind: KindDefaults): Promise<NodeRecord['model']> {
    const parentId = input.root ? undefined : (input.parent_id ?? ctx.actor.nodeId)
    const parent = input.model || parentId === undefined ? undefined : await this.nodes.find(this.database, parentId)
    return modelFor(input, kind, parent)
  }

  private check(input: Create): void {
    if (input.engine === 'exec' && !input.exec) refuse('/exec', 'is required for engine exec: {"argv": ["program", …]}')
    if (input.engine !== 'exec' && input.exec) refuse('/exec', 'is taken by engine exec only')
    if (input.root && input.parent_id) refuse('/root', 'a root has no parent_id')
  }

  private async originOf(ctx: TxContext, input: Create): Promise<Origin> {
    const id = input.parent_id ?? (input.root ? undefined : ctx.actor.nodeId)
    if (id !== undefined) {
      const parent = await this.parentOf(ctx, id)
      return { parent, maker: parent }
    }
    if (!input.cwd) refuse('/cwd', 'is required for a root')
    if (ctx.actor.nodeId === undefined) return { parent: null, maker: null }
    const maker = await this.nodes.get(ctx.tx, ctx.actor.nodeId)
    requireDepth(maker)
    return { parent: null, maker }
  }

  /** Its own worktree was asked for within the reach of who makes it. */
  private async requirePlace({ actor, tx }: TxContext, node: NodeRecord, parent: NodeRecord | null): Promise<void> {
    if (node.worktree) return
    if (actor.kind === 'app') requireReach(reachOfApp(actor, parent), node.cwd)
    if (actor.nodeId === undefined) return
    // what it may write now: the grant of its app may have been narrowed since it was made
    requireReach({ ...(await this.nodes.get(tx, actor.nodeId)), scopes: [...actor.scopes] }, node.cwd)
  }

  /** The parent, locked so that its children can be counted. */
  private async parentOf(ctx: TxContext, id: string): Promise<NodeRecord> {
    const parent = await this.nodes.lock(ctx.tx, id)
    await this.access.requireOwn(ctx, ctx.tx, parent)
    requireLegal(parent.status, 'spawn')
    await requireRoom(this.nodes, ctx.tx, parent)
    return parent
  }

  private build(
    ctx: Context,
    input: Create & { id: string; place: MadePlace | undefined; defaults: KindDefaults },
    { parent, maker }: Origin,
  ): NodeRecord {
    const now = new Date(this.clock.now())
    const { id, place, defaults } = input
    const kind = input.kind ?? 'general'
    return {
      ...blank,
      id,
      name: input.name ?? kind,
      description: handleOf(input.prompt),
      kind,
      mode: input.mode ?? defaults.mode ?? 'base',
      lifecycle: input.lifecycle ?? defaults.lifecycle ?? (parent ? 'terminal' : 'resident'),
      status: 'active',
      parent_id: parent?.id ?? null,
      root_id: parent?.root_id ?? id,
      depth: maker ? maker.depth + 1 : 0,
      spawned_by: ctx.actor.nodeId ?? ctx.actor.principal,
      engine: input.engine ?? 'loop',
      exec: input.exec ?? null,
      cwd: place?.cwd ?? input.cwd ?? (parent as NodeRecord).cwd,
      worktree: place?.worktree ?? null,
      model: modelFor(input, defaults, parent),
      scopes: grantScopes(ctx.actor.scopes, maker?.scopes, input.scopes),
      scopes_explicit: input.scopes !== undefined,
      principal: maker?.principal ?? ctx.actor.principal,
      app_id: maker?.app_id ?? ctx.actor.appId ?? null,
      profile: maker?.profile ?? ctx.actor.profile ?? null,
      env_profile: input.env_profile ?? null,
      cycles: 1,
      generation: 1,
      engagement: 1,
      broker_state: 'launching',
      result_schema: input.result_schema ?? null,
      persona: defaults.persona,
      created_at: now,
      updated_at: now,
    }
  }

  private deliverPrompt(ctx: TxContext, node: NodeRecord, prompt: string, kept: readonly KeptAttachment[]): string {
    const attachments = this.attachments.attach(ctx.tx, node.id, kept)
    const source = {
      kind: ctx.actor.kind === 'pub' ? ('system' as const) : ctx.actor.kind,
      id: ctx.actor.nodeId ?? ctx.actor.appId ?? null,
    }
    const messageId = this.mail.append(ctx.tx, {
      nodeId: node.id,
      engagement: 1,
      tier: 'normal',
      kind: 'prompt',
      body: prompt,
      source,
      attachments,
      at: node.created_at,
    })
    ctx.tx.emit({
      nodeId: node.id,
      type: 'node.created',
      data: {
        name: node.name,
        description: node.description,
        kind: node.kind,
        mode: node.mode,
        lifecycle: node.lifecycle,
        engine: node.engine,
        cwd: node.cwd,
        worktree: node.worktree && toWorktree(node.worktree),
        parent_id: node.parent_id,
        scopes: node.scopes,
        message_id: messageId,
        ...(attachments.length > 0 && { attachments }),
      },
    })
    return messageId
  }
}
