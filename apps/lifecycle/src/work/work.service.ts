import { Inject, Injectable } from '@nestjs/common'
import type { PossibleAction } from '#common/contract/cron.schema.js'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Authority } from '#common/contract/work.internal.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Actor, Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer } from '#common/kernel/database/writer.js'
import { isSvcError, SvcError } from '#common/kernel/errors.js'
import { CreateNodeService, type PlannedNode } from '../node/create-node.service.js'
import { NodeRepository } from '../node/node.repository.js'
import { NodeService } from '../node/node.service.js'
import { Authorities, requireScope, type Standing } from './authority.service.js'
import { requireSight } from './command.place.js'
import { type GivenWork, type WorkRecord, WorkRepository } from './work.repository.js'

const check = contract['lifecycle.work.check']
const start = contract['lifecycle.work.start']
const runAs = contract['lifecycle.work.actor']
type Action = InputOf<typeof start>['action']
type Started = OutputOf<typeof start>

/** What was decided before the transaction; what stood in the way is thrown in it, when the key turns out to be new. */
type Prepared = { readonly planned?: PlannedNode } | { readonly refusal: SvcError }

/** Begins what others decided to begin later, on the authority of somebody as it stands at that moment. */
@Injectable()
export class WorkService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly works: WorkRepository,
    private readonly authorities: Authorities,
    private readonly nodes: NodeRepository,
    private readonly creation: CreateNodeService,
    private readonly messages: NodeService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Whether it could be begun now: by the same path that begins it, up to where that would write.
   *
   * @throws SvcError as `start`
   */
  async check(ctx: Context, { by, action }: InputOf<typeof check>): Promise<OutputOf<typeof check>> {
    const planned = await this.plan(ctx, by, action)
    return this.writer.transact(ctx, async (within) => {
      const standing = await this.entitled(within, by, action)
      const acting = { ...within, actor: standing.actor }
      if (planned) await this.creation.admit(acting, planned)
      else if (action.type === 'message') await this.messages.admitMessage(acting, action.node_id)
      else if (action.type === 'bash') requireSight(standing, action.cwd)
      return {
        owner_path: standing.node ? await this.nodes.path(within.tx, standing.node.id) : [],
        app_id: standing.actor.appId ?? null,
        profile: standing.actor.profile ?? null,
      }
    })
  }

  /**
   * Begins it once for its key, in one transaction with the record of that: a repetition waits for the first and is told
   * the same. A refusal leaves nothing, so that a later try may succeed.
   *
   * @throws SvcError of `Authorities.resolve`; scope_missing; and what creating the node or sending the message refuses
   */
  async start(ctx: Context, { key, by, action }: InputOf<typeof start>): Promise<Started> {
    const prepared = await this.prepare(ctx, by, action)
    return this.writer.transact(ctx, async (within) => {
      const at = new Date(this.clock.now())
      // what was begun stays begun, whatever its authority has lost since
      if (!(await this.works.claim(within.tx, key, at))) return toStarted(await this.works.get(within.tx, key))
      if ('refusal' in prepared) throw prepared.refusal
      const { actor } = await this.entitled(within, by, action)
      const given = await this.give({ ...within, actor }, action, prepared.planned)
      this.works.keep(within.tx, key, given)
      return toStarted({ key, accepted_at: at, ...given })
    })
  }

  /** Who runs a command, or publishes an event. @throws SvcError as `Authorities.resolve`; scope_missing */
  async actor(_ctx: Context, { by }: InputOf<typeof runAs>): Promise<OutputOf<typeof runAs>> {
    const { actor } = await this.authorities.resolve(this.database, by)
    requireScope(actor, 'svc:act')
    return {
      scopes: [...actor.scopes],
      place: actor.place ?? null,
      generation: actor.generation ?? null,
      app_id: actor.appId ?? null,
      profile: actor.profile ?? null,
    }
  }

  private async prepare(ctx: Context, by: Authority, action: Action): Promise<Prepared> {
    try {
      const planned = await this.plan(ctx, by, action)
      return planned ? { planned } : {}
    } catch (error) {
      // a twin may have begun it just before that was so
      if (isSvcError(error)) return { refusal: error }
      throw error
    }
  }

  /** What others are asked before a node is made, as whoever the authority is already; the transaction resolves it again. */
  private async plan(ctx: Context, by: Authority, action: Action): Promise<PlannedNode | undefined> {
    if (action.type !== 'create_node') return undefined
    const { actor } = await this.authorities.resolve(this.database, by)
    requireScope(actor, 'svc:act')
    const { type: _, ...body } = action
    return this.creation.plan({ ...ctx, actor }, body)
  }

  private async entitled({ tx }: TxContext, by: Authority, action: Action): Promise<Standing> {
    requirePossible(action)
    const standing = await this.authorities.resolve(tx, by)
    if (!isToOneself(action, standing.actor)) requireScope(standing.actor, 'svc:act')
    return standing
  }

  private async give(acting: TxContext, action: Action, planned: PlannedNode | undefined): Promise<GivenWork> {
    if (planned) {
      const { node, messageId } = await this.creation.write(acting, planned)
      return given(node, messageId)
    }
    if (action.type !== 'message') {
      throw new SvcError('validation_failed', 'Commands and events are not for lifecycle to begin.', {
        errors: [{ pointer: '/action/type', message: 'is not begun here' }],
      })
    }
    const { node_id: id, body, tier } = action
    const { node, messageId } = await this.messages.deliver(acting, { id, body, tier }, [])
    return given(node, messageId)
  }
}

const given = ({ id, engagement, version }: Standing['node'] & object, messageId: string): GivenWork => ({
  node_id: id,
  engagement,
  node_version: version,
  message_id: messageId,
})

const toStarted = ({ key, node_id, message_id, accepted_at }: WorkRecord): Started => ({
  key,
  node_id,
  message_id,
  accepted_at: accepted_at.toISOString(),
})

/** A node may remind itself with the scope for schedules alone; whatever reaches others is an act. */
const isToOneself = (action: Action, { nodeId }: Actor): boolean =>
  action.type === 'message' && nodeId !== undefined && action.node_id === nodeId

function requirePossible(action: Action): asserts action is PossibleAction {
  if (action.type === 'start_run') throw new SvcError('action_unavailable')
}
