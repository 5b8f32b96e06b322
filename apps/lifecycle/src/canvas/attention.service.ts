import { Inject, Injectable } from '@nestjs/common'
import type { AttentionItem } from '#common/contract/canvas.schema.js'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { objectId } from '#common/contract/object.schema.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { cursorAfter, pageOf, readCursor } from '#common/kernel/database/cursor.js'
import { Database } from '#common/kernel/database/database.js'
import { InProgressStore } from '../broker/in-progress.store.js'
import { ConcernRepository, type OpenConcern } from '../concern/concern.repository.js'
import { HumanRequestRepository, type Ticket } from '../human/human-request.repository.js'
import { type AttentionRow, CanvasRepository } from './canvas.repository.js'
import { hangingSince, type Since } from './hanging.query.js'
import { type Horizon, Horizons } from './horizon.js'

const attention = contract['canvas.attention']
const counts = contract['canvas.attentionCounts']

/** What is shown at one place of the list. */
interface Entry {
  readonly id: string
  readonly created_at: Date
  readonly items: AttentionItem[]
}

/** What needs a person. */
@Injectable()
export class AttentionService {
  constructor(
    private readonly database: Database,
    private readonly canvas: CanvasRepository,
    private readonly requests: HumanRequestRepository,
    private readonly concerns: ConcernRepository,
    private readonly horizons: Horizons,
    private readonly inProgress: InProgressStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found */
  async list(ctx: Context, input: InputOf<typeof attention>): Promise<OutputOf<typeof attention>> {
    const horizon = await this.horizons.of(ctx, this.database, input.under)
    const view = { horizon, before: readCursor(input.after), limit: input.limit + 1 }
    const [rows, tickets, concerns] = await Promise.all([
      this.canvas.attention(this.database, view, this.since()),
      this.requests.tickets(this.database, view),
      this.concerns.open(this.database, view),
    ])
    const entries: Entry[] = [
      ...rows.map((row) => ({ id: row.id, created_at: row.created_at, items: this.itemsOf(row) })),
      ...tickets.map((ticket) => ({ id: ticket.id, created_at: ticket.created_at, items: [ticketItem(ticket)] })),
      ...concerns.map((one) => ({ id: one.ref, created_at: one.since, items: [concernItem(one)] })),
    ].sort(newestFirst)
    const { data, ...page } = pageOf(entries, input.limit, (entry) => cursorAfter(entry.created_at, entry.id))
    return { items: data.flatMap(({ items }) => items), ...page }
  }

  async counts(ctx: Context, { ids }: InputOf<typeof counts>): Promise<OutputOf<typeof counts>> {
    const found = await this.countsOf(ids, await this.horizons.of(ctx, this.database))
    return { counts: Object.fromEntries(ids.map((id) => [id, found.get(id) ?? 0])) }
  }

  /** Entries of each of these nodes that has any. */
  async countsOf(ids: readonly string[], horizon: Horizon): Promise<Map<string, number>> {
    if (ids.length === 0) return new Map()
    const [rows, asked, concerns] = await Promise.all([
      this.canvas.attentionOf(this.database, ids, horizon, this.since()),
      this.requests.openCounts(this.database, ids, horizon),
      this.concerns.openCounts(this.database, ids, horizon),
    ])
    const besides = (id: string): number => (asked.get(id) ?? 0) + (concerns.get(id) ?? 0)
    return new Map(rows.map((row) => [row.id, this.itemsOf(row).length + besides(row.id)]))
  }

  private since(): Since {
    return hangingSince(this.clock.now())
  }

  private itemsOf(row: AttentionRow): AttentionItem[] {
    const about = {
      node_id: row.id,
      request_id: null,
      cron_id: null,
      object_id: null,
      node_name: row.name,
      node_kind: row.kind,
      status: row.status,
    }
    const items: AttentionItem[] = []
    if (row.fault) {
      items.push({
        type: 'fault',
        ...about,
        since: row.fault.since,
        message: row.fault.message,
        fault: row.fault.kind,
        retry_at: row.fault.retry_at ?? null,
        remedy: faultRemedy(row.status, row.fault),
      })
    }
    // text on its way is progress that no row shows
    const hangs = row.hangs !== null && !(row.hangs === 'active' && this.inProgress.isStreaming(row.id))
    if (hangs && !row.fault) items.push({ ...about, ...hanging(row), fault: null, retry_at: null })
    return items
  }
}

const faultRemedy = (status: AttentionRow['status'], fault: NonNullable<AttentionRow['fault']>): string => {
  if (status === 'dead') return 'Send it a message to bring it back, or cancel it.'
  if (fault.held_for === 'credential')
    return 'Install a credential that works (`svc model add <provider> --key-file <file>`); the node goes on by itself.'
  if (fault.held_for === 'grant')
    return 'Give its app the grant back (`svc app grant <app>`); the node goes on by itself.'
  return fault.retry_at || fault.held_for
    ? 'It is tried again by itself; `svc node retry` does it now.'
    : 'See to the cause; the node goes on by itself, or with the next message.'
}

const hanging = (row: AttentionRow): Pick<AttentionItem, 'type' | 'since' | 'message' | 'remedy'> => ({
  type: 'hanging',
  since: row.active_at.toISOString(),
  ...(row.hangs === 'active'
    ? { message: 'It is at work, and nothing has come of it for a while.', remedy: 'Interrupt it, or cancel it.' }
    : { message: 'It owes a report and waits for nothing.', remedy: 'Send it a message, or cancel it.' }),
})

const newestFirst = (a: Entry, b: Entry): number =>
  b.created_at.getTime() - a.created_at.getTime() || (a.id < b.id ? 1 : -1)

const ticketItem = (ticket: Ticket): AttentionItem => ({
  type: 'ticket',
  node_id: ticket.node_id,
  request_id: ticket.id,
  cron_id: null,
  object_id: null,
  node_name: ticket.node_name,
  node_kind: ticket.node_kind,
  status: ticket.status,
  since: ticket.created_at.toISOString(),
  message: ticket.title,
  fault: null,
  retry_at: null,
  remedy: `Answer it: svc human answer ${ticket.id}${silence(ticket)}`,
})

const concernItem = (concern: OpenConcern): AttentionItem => ({
  ...subjectOf(concern),
  node_id: concern.node_id,
  request_id: null,
  node_name: concern.node_name,
  node_kind: concern.node_kind,
  status: concern.status,
  since: concern.since.toISOString(),
  message: `${concern.name}: ${concern.message}`,
  fault: null,
  retry_at: null,
  remedy: concern.remedy,
})

const subjectOf = ({ ref }: OpenConcern): Pick<AttentionItem, 'type' | 'cron_id' | 'object_id'> =>
  objectId.safeParse(ref).success
    ? { type: 'object', cron_id: null, object_id: ref }
    : { type: 'schedule', cron_id: ref, object_id: null }

const silence = ({ deadline, has_default }: Ticket): string => {
  if (deadline === null) return ''
  return `; after ${deadline.toISOString()} ${has_default ? 'its default stands' : 'nobody can answer it any more'}`
}
