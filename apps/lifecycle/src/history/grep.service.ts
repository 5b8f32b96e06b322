import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock, pause } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { abortedBy, SvcError } from '#common/kernel/errors.js'
import { type Horizon, Horizons } from '../canvas/horizon.js'
import { linePattern } from './grep.pattern.js'
import { type Cut, GrepWalk, type Place } from './grep.walk.js'
import { HistoryIndexer } from './history.indexer.js'
import { HistoryRepository, type Scope } from './history.repository.js'

const grep = contract['canvas.history.grep']
type Input = InputOf<typeof grep>

/** How long (ms) one request may keep others waiting at a stretch. */
const stretch = 15

/** Lines by a regular expression, over the passages of the index: newest first, never more than a bounded amount at once. */
@Injectable()
export class GrepService {
  /** Of one request: time (ms) and text (bytes). */
  bounds = { ms: 1500, bytes: 32 * 1024 * 1024 }

  constructor(
    private readonly database: Database,
    private readonly history: HistoryRepository,
    private readonly horizons: Horizons,
    private readonly indexer: HistoryIndexer,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found, validation_failed (a pattern that is none, a foreign cursor) */
  async grep(ctx: Context, input: Input): Promise<OutputOf<typeof grep>> {
    const pattern = linePattern(input.pattern)
    const indexing = this.indexer.isBehind
    const horizon = await this.horizonOf(ctx, input)
    const from = readCursor(input.after) ?? { below: await this.history.head(this.database), line: 0 }
    const { limit, context } = input
    const walk = new GrepWalk(pattern, { limit, context, bytes: this.bounds.bytes }, from)
    const cut = await this.go(ctx, walk, { scope: { horizon, kinds: input.kinds }, literals: pattern.literals })
    return {
      matches: walk.matches,
      next_cursor: cut && !walk.isOver ? cursorOf(walk.at) : null,
      cut: walk.isOver ? null : cut,
      scanned_bytes: walk.bytes,
      indexing,
    }
  }

  private async horizonOf(ctx: Context, { under, node }: Input): Promise<Horizon> {
    const horizon = await this.horizons.ofPast(ctx, this.database, under)
    if (node === undefined) return horizon
    const { rootId } = await this.horizons.ofPast(ctx, this.database, node)
    const inside = horizon.ids ? horizon.ids.includes(node) : [undefined, rootId].includes(horizon.rootId)
    return { rootId: rootId as string, ids: inside ? [node] : [] }
  }

  /** Goes on until all was looked at, or a bound is met; answers which. */
  private async go(
    ctx: Context,
    walk: GrepWalk,
    what: { scope: Scope; literals: readonly string[] },
  ): Promise<Cut | null> {
    const started = this.clock.monotonic()
    let rested = started
    while (!walk.isOver) {
      if (ctx.signal.aborted) throw abortedBy(ctx.signal)
      const at = this.clock.monotonic()
      const rows = await this.history.look(this.database, { ...what, ...walk.block })
      const took = this.clock.monotonic() - at
      for (const row of rows) {
        const cut = walk.take(row)
        if (cut) return cut
        const now = this.clock.monotonic()
        if (now - started > this.bounds.ms) return 'time'
        if (now - rested > stretch) {
          await pause(this.clock, 0)
          rested = this.clock.monotonic()
        }
      }
      walk.turn(rows.length, took)
      if (this.clock.monotonic() - started > this.bounds.ms) return 'time'
    }
    return null
  }
}

const cursorOf = ({ below, line }: Place): string => Buffer.from(`${below}.${line}`).toString('base64url')

const readCursor = (cursor: string | undefined): Place | undefined => {
  if (cursor === undefined) return undefined
  const match = /^(\d{1,15})\.(\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) {
    throw new SvcError('validation_failed', undefined, {
      errors: [{ pointer: '/after', message: 'must be the next_cursor of an earlier page' }],
    })
  }
  return { below: Number(match[1]), line: Number(match[2]) }
}
