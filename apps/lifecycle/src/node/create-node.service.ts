import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type Node, nodeLimits, type Strength } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { actorRefOf, type Context } from '#common/kernel/context.js'
import type { Tx } from '#common/kernel/database/tx.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { MailRepository } from '../mail/mail.repository.js'
import { LaunchQueue } from '../supervision/launch.queue.js'
import { ModelCheck } from './model-check.js'
import { NodeAccess } from './node.access.js'
import { type NodeRecord, toNode } from './node.record.js'
import { type NewNode, NodeRepository } from './node.repository.js'
import { compileSchema } from './result-schema.js'
import { grantScopes } from './scope-grant.js'

const create = contract['nodes.create']
type Create = InputOf<typeof create>

const refuse = (pointer: string, message: string): never => {
  throw new SvcError('validation_failed', undefined, { errors: [{ pointer, message }] })
}

@Injectable()
export class CreateNodeService {
  constructor(
    private readonly writer: Writer,
    private readonly nodes: NodeRepository,
    private readonly mail: MailRepository,
    private readonly access: NodeAccess,
    private readonly models: ModelCheck,
    private readonly launches: LaunchQueue,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Checks everything, then writes the node, its edges, its first mail and its events in one transaction; its process
   * is started after commit.
   *
   * @throws SvcError validation_failed, scope_exceeds_ceiling, not_found (parent), quota_exceeded, model_not_configured
   */
  async create(ctx: Context, input: Create): Promise<Written<Node>> {
    this.check(input)
    if ((input.engine ?? 'loop') === 'loop') await this.models.require(ctx, input.model ?? {})
    return this.writer.once(ctx, { operation: create.name, input }, async (within) => {
      const parent = await this.parentOf(within, input)
      const node = this.build(ctx, input, parent)
      this.nodes.insert(within.tx, node)
      this.nodes.recordTransition(within.tx, {
        nodeId: node.id,
        version: 1,
        event: 'create',
        from: null,
        to: 'active',
        intent: null,
        actor: actorRefOf(ctx.actor),
        at: node.created_at,
      })
      if (parent) this.nodes.subscribe(within.tx, parent.id, node.id, 'active')
      this.deliverPrompt(within, node, input.prompt)
      within.tx.afterCommit(() => this.launches.add(node.id))
      return toNode(await this.nodes.get(within.tx, node.id), { streaming: false, heartbeatAt: null })
    })
  }

  private check(input: Create): void {
    if (input.engine === 'exec' && !input.exec) refuse('/exec', 'is required for engine exec: {"argv": ["program", …]}')
    if (input.engine !== 'exec' && input.exec) refuse('/exec', 'is taken by engine exec only')
    if (input.root && input.parent_id) refuse('/root', 'a root has no parent_id')
    if (input.result_schema) compileSchema(input.result_schema)
  }

  /** The parent, locked so that its children can be counted; null for a root. */
  private async parentOf(ctx: TxContext, input: Create): Promise<NodeRecord | null> {
    const id = input.parent_id ?? (input.root ? undefined : ctx.actor.nodeId)
    if (id === undefined) {
      if (!input.cwd) refuse('/cwd', 'is required for a root')
      return null
    }
    const parent = await this.nodes.lock(ctx.tx, id)
    await this.access.requireOwn(ctx, ctx.tx, parent)
    if (parent.status === 'canceled') {
      throw new SvcError('illegal_transition', 'A canceled node takes no children.', {
        state: 'canceled',
        event: 'spawn',
      })
    }
    await this.requireRoom(ctx.tx, parent)
    return parent
  }

  private async requireRoom(tx: Tx, parent: NodeRecord): Promise<void> {
    if (parent.depth + 1 > nodeLimits.depth) {
      throw new SvcError('quota_exceeded', `Nodes nest at most ${nodeLimits.depth} deep.`, {
        limit: 'depth',
        max: nodeLimits.depth,
      })
    }
    if ((await this.nodes.childCount(tx, parent.id)) >= nodeLimits.children) {
      throw new SvcError('quota_exceeded', `A node has at most ${nodeLimits.children} children.`, {
        limit: 'children',
        max: nodeLimits.children,
      })
    }
  }

  private build(ctx: Context, input: Create, parent: NodeRecord | null): NewNode {
    const now = new Date(this.clock.now())
    const id = newId('node')
    const kind = input.kind ?? 'general'
    const model: { strength?: Strength; override?: string | undefined } = input.model ?? parent?.model ?? {}
    return {
      id,
      name: input.name ?? kind,
      kind,
      mode: input.mode ?? 'base',
      lifecycle: input.lifecycle ?? (parent ? 'terminal' : 'resident'),
      status: 'active',
      parent_id: parent?.id ?? null,
      root_id: parent?.root_id ?? id,
      depth: parent ? parent.depth + 1 : 0,
      spawned_by: ctx.actor.nodeId ?? ctx.actor.principal,
      engine: input.engine ?? 'loop',
      exec: input.exec ?? null,
      cwd: input.cwd ?? (parent as NodeRecord).cwd,
      model: {
        strength: model.strength ?? 'medium',
        ...(model.override !== undefined && { override: model.override }),
      },
      scopes: grantScopes(ctx.actor.scopes, parent?.scopes, input.scopes),
      scopes_explicit: input.scopes !== undefined,
      principal: parent?.principal ?? ctx.actor.principal,
      app_id: parent?.app_id ?? ctx.actor.appId ?? null,
      profile: parent?.profile ?? ctx.actor.profile ?? null,
      cycles: 1,
      generation: 1,
      engagement: 1,
      broker_state: 'launching',
      result_schema: input.result_schema ?? null,
      created_at: now,
      updated_at: now,
    }
  }

  private deliverPrompt(ctx: TxContext, node: NewNode, prompt: string): void {
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
      at: node.created_at,
    })
    ctx.tx.emit({
      nodeId: node.id,
      type: 'node.created',
      data: {
        name: node.name,
        kind: node.kind,
        mode: node.mode,
        lifecycle: node.lifecycle,
        engine: node.engine,
        cwd: node.cwd,
        parent_id: node.parent_id,
        scopes: node.scopes,
        message_id: messageId,
      },
    })
  }
}
