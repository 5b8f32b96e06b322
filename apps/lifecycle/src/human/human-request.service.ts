import { Inject, Injectable } from '@nestjs/common'
import { type HumanRequest, type HumanResponseItem, humanLimits } from '#common/contract/human.schema.js'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { actorRefOf, type Context } from '#common/kernel/context.js'
import { cursorAfter, pageOf, readCursor } from '#common/kernel/database/cursor.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { type FieldFault, SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { Horizons } from '../canvas/horizon.js'
import { MailRepository } from '../mail/mail.repository.js'
import { requireMailRoom } from '../mail/mail.room.js'
import { LongPolls } from '../node/long.polls.js'
import { NodeAccess } from '../node/node.access.js'
import { NodeRepository } from '../node/node.repository.js'
import { requireLegal } from '../node/node.rules.js'
import { completed, deckFaults, responseFaults } from './deck.rules.js'
import { type HumanRequestRecord, toHumanRequest } from './human-request.record.js'
import { HumanRequestRepository, missingRequest } from './human-request.repository.js'
import { HumanResolutions } from './human-resolution.service.js'

const create = contract['human.requests.create']
const retrieve = contract['human.requests.retrieve']
const list = contract['human.requests.list']
const replace = contract['human.requests.replace']
const respond = contract['human.requests.respond']
const dismiss = contract['human.requests.dismiss']
const cancel = contract['human.requests.cancel']

type Asked = Pick<InputOf<typeof create>, 'title' | 'subtitle' | 'pages' | 'deadline' | 'default' | 'waiting_cost'>

/** What agents and applications ask a person, and what the person says. */
@Injectable()
export class HumanRequestService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly requests: HumanRequestRepository,
    private readonly resolutions: HumanResolutions,
    private readonly nodes: NodeRepository,
    private readonly mail: MailRepository,
    private readonly access: NodeAccess,
    private readonly horizons: Horizons,
    private readonly polls: LongPolls,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError validation_failed, not_found (the node), illegal_transition (of one that has ended), quota_exceeded */
  create(ctx: Context, input: InputOf<typeof create>): Promise<Written<HumanRequest>> {
    return this.writer.once(ctx, { operation: create.name, input }, async (within) => {
      this.requireAskable(input)
      const nodeId = input.node_id ?? ctx.actor.nodeId ?? null
      const node = nodeId === null ? undefined : await this.nodes.lock(within.tx, nodeId)
      if (node) {
        await this.access.requireOwn(ctx, within.tx, node)
        requireLegal(node.status, 'ask')
        // each is answered by a mail, if only that it was withdrawn
        requireMailRoom(await this.mail.waiting(within.tx, node.id))
      }
      const row = this.build(ctx, input, { nodeId, appId: node?.app_id ?? ctx.actor.appId ?? null })
      const known = input.dedupe_key && (await this.requests.same(within.tx, row.principal, input.dedupe_key))
      if (known) return toHumanRequest(known)
      await this.requireRoom(within, row.principal)
      if (!(await this.requests.insert(within.tx, row))) throw new SvcError('version_conflict')
      if (nodeId !== null) {
        const { id, title, deadline } = toHumanRequest(row)
        const pages = row.pages.map((page) => ({ id: page.id, kind: page.kind, title: page.title }))
        within.tx.emit({ nodeId, type: 'question.asked', data: { request_id: id, title, pages, deadline } })
      }
      return toHumanRequest(row)
    })
  }

  /** The request as it is now, or within `wait` seconds as soon as it is resolved. @throws SvcError not_found */
  async retrieve(ctx: Context, { id, wait }: InputOf<typeof retrieve>): Promise<HumanRequest> {
    await this.requireSeen(ctx, await this.requests.get(this.database, id))
    return this.polls.until(id, { seconds: wait ?? 0, signal: ctx.signal }, async (last) => {
      const row = await this.requests.get(this.database, id)
      return row.status !== 'pending' || last ? toHumanRequest(row) : undefined
    })
  }

  async list(ctx: Context, input: InputOf<typeof list>): Promise<OutputOf<typeof list>> {
    const horizon = await this.horizons.of(ctx, this.database)
    const rows = await this.requests.page(this.database, {
      horizon,
      status: input.status,
      nodeId: input.node_id,
      before: readCursor(input.after),
      limit: input.limit + 1,
    })
    const page = pageOf(rows, input.limit, (row) => cursorAfter(row.created_at, row.id))
    return { ...page, data: page.data.map(toHumanRequest) }
  }

  /** @throws SvcError not_found, validation_failed, already_resolved, request_expired, precondition_failed */
  replace(ctx: Context, input: InputOf<typeof replace>): Promise<HumanRequest> {
    return this.writer.transact(ctx, async (within) => {
      const { row } = await this.resolutions.lock(within.tx, input.id)
      this.requireAsker(ctx, row)
      this.resolutions.requireOpen(row)
      requireVersion(row, input.if_match)
      this.requireAskable(input)
      return toHumanRequest(this.requests.save(within.tx, row, contentOf(input), new Date(this.clock.now())))
    })
  }

  /** @throws SvcError not_found, validation_failed, already_resolved, request_expired, precondition_failed */
  respond(ctx: Context, input: InputOf<typeof respond>): Promise<Written<HumanRequest>> {
    return this.writer.once(ctx, { operation: respond.name, input }, async (within) => {
      const locked = await this.resolutions.lock(within.tx, input.id)
      const { row } = locked
      this.resolutions.requireOpen(row)
      requireVersion(row, input.if_match)
      refuse(responseFaults(row.pages, input.response, '/response'))
      const response = completed(row.pages, input.response)
      return toHumanRequest(this.resolutions.resolve(within, locked, 'respond', { response }))
    })
  }

  /** @throws SvcError not_found, already_resolved, request_expired */
  dismiss(ctx: Context, input: InputOf<typeof dismiss>): Promise<Written<HumanRequest>> {
    return this.writer.once(ctx, { operation: dismiss.name, input }, async (within) => {
      const locked = await this.resolutions.lock(within.tx, input.id)
      this.resolutions.requireOpen(locked.row)
      return toHumanRequest(this.resolutions.resolve(within, locked, 'dismiss', { reason: input.reason ?? null }))
    })
  }

  /** By who asked, or by the owner. @throws SvcError not_found, already_resolved, request_expired */
  cancel(ctx: Context, input: InputOf<typeof cancel>): Promise<Written<HumanRequest>> {
    return this.writer.once(ctx, { operation: cancel.name, input }, async (within) => {
      const locked = await this.resolutions.lock(within.tx, input.id)
      this.requireAsker(ctx, locked.row)
      this.resolutions.requireOpen(locked.row)
      return toHumanRequest(this.resolutions.resolve(within, locked, 'cancel', { reason: input.reason ?? null }))
    })
  }

  private build(ctx: Context, input: InputOf<typeof create>, of: { nodeId: string | null; appId: string | null }) {
    const at = new Date(this.clock.now())
    const row: HumanRequestRecord = {
      id: newId('req'),
      node_id: of.nodeId,
      app_id: of.appId,
      kind: input.kind,
      ...contentOf(input),
      status: 'pending',
      dedupe_key: input.dedupe_key ?? null,
      response: null,
      reason: null,
      asked_by: actorRefOf(ctx.actor),
      principal: ctx.actor.principal,
      resolved_by: null,
      resolved_at: null,
      version: 1,
      created_at: at,
      updated_at: at,
    }
    return row
  }

  private requireAskable(input: Asked): void {
    const { pages, deadline } = input
    const late = deadline !== undefined && Date.parse(deadline) <= this.clock.now()
    refuse([
      ...deckFaults(pages),
      ...(late ? [{ pointer: '/deadline', message: 'must lie ahead' }] : []),
      ...(input.default && deadline === undefined
        ? [{ pointer: '/default', message: 'needs a deadline after which it stands' }]
        : []),
      ...(input.default ? responseFaults(pages, input.default, '/default') : []),
    ])
  }

  private async requireRoom({ tx }: TxContext, principal: string): Promise<void> {
    if ((await this.requests.openCount(tx, principal)) < humanLimits.open) return
    throw new SvcError('quota_exceeded', `At most ${humanLimits.open} questions are open at once.`, {
      limit: 'open_questions',
      max: humanLimits.open,
    })
  }

  /** The owner sees all, a node what it or a node below it asked, an app its own, of the profile of its token. @throws SvcError not_found */
  private async requireSeen(ctx: Context, row: HumanRequestRecord): Promise<void> {
    const { kind, nodeId, appId, profile, principal } = ctx.actor
    if (kind === 'owner' || kind === 'system' || row.principal === principal) return
    if (kind === 'node') {
      if (
        row.node_id !== null &&
        nodeId !== undefined &&
        (await this.nodes.isWithin(this.database, row.node_id, nodeId))
      )
        return
    } else if (appId !== undefined && row.app_id === appId) {
      const asker = row.node_id === null ? undefined : await this.nodes.find(this.database, row.node_id)
      if (profile === undefined || asker?.profile === profile) return
    }
    missingRequest(row.id)
  }

  /** @throws SvcError not_found */
  private requireAsker(ctx: Context, row: HumanRequestRecord): void {
    const { kind, nodeId, principal } = ctx.actor
    if (kind === 'owner' || kind === 'system' || row.principal === principal) return
    if (nodeId !== undefined && row.node_id === nodeId) return
    missingRequest(row.id)
  }
}

const contentOf = (input: Asked) => ({
  title: input.title,
  subtitle: input.subtitle ?? null,
  pages: input.pages,
  deadline: input.deadline === undefined ? null : new Date(input.deadline),
  default_response: defaultOf(input),
  waiting_cost: input.waiting_cost ?? null,
})

const defaultOf = ({ pages, default: given }: Asked): HumanResponseItem[] | null =>
  given ? completed(pages, given) : null

const requireVersion = (row: HumanRequestRecord, wanted: number | undefined): void => {
  if (wanted === undefined || wanted === row.version) return
  throw new SvcError('precondition_failed', undefined, { version: row.version })
}

const refuse = (errors: readonly FieldFault[]): void => {
  if (errors.length > 0) throw new SvcError('validation_failed', undefined, { errors: errors.slice(0, 50) })
}
