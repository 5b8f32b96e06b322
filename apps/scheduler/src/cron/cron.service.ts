import type { Cron } from '#common/contract/cron.schema.js'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { cursorAfter, pageOf, readCursor } from '#common/kernel/database/cursor.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import type { TxContext, Writer, Written } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { toFire } from '../fire/fire.record.js'
import type { SlotDecider } from '../fire/slot.decider.js'
import { cleared, isRaised } from '../relay/concerns.js'
import type { Timers } from '../timer/timers.js'
import { requireSeen } from './cron.access.js'
import { type CronEvent, cronMachine } from './cron.machine.js'
import { type CronRecord, toCron } from './cron.record.js'
import type { CronRemoval } from './cron.removal.js'
import type { CronRepository } from './cron.repository.js'
import type { HistoryRepository } from './history.repository.js'

const list = contract['crons.list']
const pause = contract['crons.pause']
const resume = contract['crons.resume']
const remove = contract['crons.delete']
const fires = contract['crons.fires.list']

type Asked = InputOf<(typeof contract)['crons.retrieve']>
type Change = InputOf<typeof pause>

/** Reads and changes schedules for those who may see them. */
export class CronService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly crons: CronRepository,
    private readonly history: HistoryRepository,
    private readonly decider: SlotDecider,
    private readonly removal: CronRemoval,
    private readonly timers: Timers,
    private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found */
  async retrieve(ctx: Context, input: Asked): Promise<Cron> {
    return this.shown(this.database, await this.find(ctx, input))
  }

  /** @throws SvcError validation_failed (a cursor that is none) */
  async list(ctx: Context, input: InputOf<typeof list>): Promise<OutputOf<typeof list>> {
    const rows = await this.crons.page(this.database, ctx, {
      status: input.status,
      nodeId: input.node_id,
      appId: input.app_id,
      before: readCursor(input.after),
      limit: input.limit + 1,
    })
    const page = pageOf(rows, input.limit, (row) => cursorAfter(row.created_at, row.id))
    const last = await this.history.last(
      this.database,
      page.data.map(({ id }) => id),
    )
    return { ...page, data: page.data.map((row) => toCron(row, lastOf(last, row))) }
  }

  /** @throws SvcError not_found, validation_failed (a cursor that is none) */
  async fires(ctx: Context, input: InputOf<typeof fires>): Promise<OutputOf<typeof fires>> {
    const row = await this.find(ctx, input)
    const before = readCursor(input.after)?.createdAt
    const lines = await this.history.page(this.database, row.id, { before, limit: input.limit + 1 })
    const page = pageOf(lines, input.limit, (line) => cursorAfter(line.slot, line.cron_id))
    return { ...page, data: page.data.map(toFire) }
  }

  /** @throws SvcError not_found, illegal_transition, precondition_failed */
  pause(ctx: Context, input: Change): Promise<Written<Cron>> {
    return this.writer.once(ctx, { operation: pause.name, input }, async (within) => {
      const row = this.move(within.tx, await this.lock(within, input), 'pause')
      within.tx.afterCommit(() => this.timers.disarm([row]))
      return this.shown(within.tx, row)
    })
  }

  /**
   * From now on: what passed while it was paused is written down and left out.
   *
   * @throws SvcError not_found, illegal_transition (also of one that has no slot left), precondition_failed
   */
  resume(ctx: Context, input: Change): Promise<Written<Cron>> {
    return this.writer.once(ctx, { operation: resume.name, input }, async (within) => {
      const paused = await this.lock(within, input)
      const row = this.move(within.tx, await this.passed(within, paused), 'resume')
      if (isRaised(paused)) within.tx.deliver(cleared(row))
      within.tx.afterCommit(async () => void (await this.timers.arm([row])))
      return this.shown(within.tx, row)
    })
  }

  /** @throws SvcError not_found, precondition_failed */
  delete(ctx: Context, input: InputOf<typeof remove>): Promise<OutputOf<typeof remove>> {
    return this.writer.transact(ctx, async (within) => {
      this.removal.remove(within.tx, [await this.lock(within, input)])
      return { deleted: true }
    })
  }

  private async find(ctx: Context, input: Asked): Promise<CronRecord> {
    return requireSeen(ctx, input.id, await this.crons.find(this.database, input.id), input)
  }

  private async lock(ctx: TxContext, input: Change): Promise<CronRecord> {
    const row = requireSeen(ctx, input.id, await this.crons.lock(ctx.tx, input.id), input)
    if (input.if_match !== undefined && input.if_match !== row.version) {
      throw new SvcError('precondition_failed', undefined, { version: row.version })
    }
    return row
  }

  /** Slots that nothing was decided about yet are left out, since it is paused still. */
  private async passed(ctx: TxContext, paused: CronRecord): Promise<CronRecord> {
    const now = new Date(this.clock.now())
    if (paused.next_due === null || paused.next_due > now) return paused
    const [decided = paused] = await this.decider.decide(ctx, [paused], now)
    return decided
  }

  private move(tx: Tx, row: CronRecord, event: CronEvent): CronRecord {
    const { status, pause_reason, consecutive_failures } = cronMachine.apply(row, event)
    return this.crons.save(tx, row, { status, pause_reason, consecutive_failures }, new Date(this.clock.now()))
  }

  private async shown(reader: Reader, row: CronRecord): Promise<Cron> {
    return toCron(row, lastOf(await this.history.last(reader, [row.id]), row))
  }
}

const lastOf = (last: Awaited<ReturnType<HistoryRepository['last']>>, { id }: CronRecord): Cron['last_fire'] => {
  const fire = last.get(id)
  return fire ? toFire(fire) : null
}
