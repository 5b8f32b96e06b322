import { Inject, Injectable } from '@nestjs/common'
import type { GrepMatch } from '#common/contract/history.schema.js'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock, pause } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { SvcError } from '#common/kernel/errors.js'
import { type Horizon, Horizons } from '../canvas/horizon.js'
import { type LinePattern, linePattern } from './grep.pattern.js'
import { HistoryIndexer } from './history.indexer.js'
import { HistoryRepository, looked, type PassageRow, type Scope } from './history.repository.js'

const grep = contract['canvas.history.grep']
type Input = InputOf<typeof grep>
type Answer = OutputOf<typeof grep>

/** Bounds of one request: time (ms), text (bytes), and how long (ms) it may keep others waiting at a stretch. */
const patience = 1500
const mostBytes = 32 * 1024 * 1024
const stretch = 15
/** Blocks grow by this many powers of two when little is found in them, soon enough (ms) for one eight times as long. */
const [smallest, step, greatest] = [12, 3, 21]
const few = 32
const soon = 40
/** Characters of a line that are shown. */
const lineLength = 400

/** Where a grep goes on: below this passage, or in the one before it behind this line. */
interface Place {
  readonly below: number
  readonly line: number
}

/** Lines by a regular expression, over the passages of the index: newest first, never more than a bounded amount at once. */
@Injectable()
export class GrepService {
  constructor(
    private readonly database: Database,
    private readonly history: HistoryRepository,
    private readonly horizons: Horizons,
    private readonly indexer: HistoryIndexer,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found, validation_failed (a pattern that is none, a foreign cursor) */
  async grep(ctx: Context, input: Input): Promise<Answer> {
    const pattern = linePattern(input.pattern)
    const indexing = this.indexer.isBehind
    const horizon = await this.horizonOf(ctx, input)
    const from = readCursor(input.after) ?? { below: await this.history.head(this.database), line: 0 }
    const found = await this.walk(ctx, { input, pattern, scope: { horizon, kinds: input.kinds }, from })
    return { ...found, indexing }
  }

  private async horizonOf(ctx: Context, { under, node }: Input): Promise<Horizon> {
    const horizon = await this.horizons.of(ctx, this.database, under)
    if (node === undefined) return horizon
    const one = await this.horizons.of(ctx, this.database, node)
    const outside = horizon.ids
      ? !horizon.ids.includes(node)
      : horizon.rootId !== undefined && horizon.rootId !== one.rootId
    const rootId = one.rootId as string
    return { rootId, ids: outside ? [] : [node] }
  }

  private async walk(
    ctx: Context,
    { input, pattern, scope, from }: { input: Input; pattern: LinePattern; scope: Scope; from: Place },
  ): Promise<Omit<Answer, 'indexing'>> {
    const matches: GrepMatch[] = []
    const started = this.clock.monotonic()
    let [bytes, rested, shift] = [0, started, smallest]
    let { below, line } = from
    const stopped = (cut: NonNullable<Answer['cut']>): Omit<Answer, 'indexing'> => ({
      matches,
      next_cursor: cursorOf({ below, line }),
      cut,
      scanned_bytes: bytes,
    })
    while (below > 1) {
      if (ctx.signal.aborted) throw new SvcError('client_closed')
      const block = Math.floor((below - 1) / 2 ** shift)
      const at = this.clock.monotonic()
      const rows = await this.history.look(this.database, { scope, literals: pattern.literals, shift, block, below })
      const took = this.clock.monotonic() - at
      for (const row of rows) {
        const lines = linesOf(row, pattern, input.context, row.id === below - 1 ? line : 0)
        for (const match of lines) {
          if (matches.length === input.limit) return stopped('limit')
          matches.push(match)
          below = row.id + 1
          line = match.line
        }
        below = row.id
        line = 0
        bytes += Buffer.byteLength(row.body)
        if (bytes > mostBytes) return stopped('bytes')
        const now = this.clock.monotonic()
        if (now - started > patience) return stopped('time')
        if (now - rested > stretch) {
          await pause(this.clock, 0)
          rested = this.clock.monotonic()
        }
      }
      if (rows.length < looked) below = block * 2 ** shift
      line = 0
      shift = rows.length <= few && took < soon ? Math.min(shift + step, greatest) : took < soon * 4 ? shift : smallest
      if (below > 1 && this.clock.monotonic() - started > patience) return stopped('time')
    }
    return { matches, next_cursor: null, cut: null, scanned_bytes: bytes }
  }
}

const linesOf = (
  row: PassageRow & { readonly body: string },
  { find }: LinePattern,
  context: number,
  behind: number,
): GrepMatch[] => {
  const lines = row.body.split('\n')
  return lines.flatMap((text, at) => {
    const line = row.line + at
    if (line <= behind) return []
    const found = find(text)
    if (!found) return []
    return [
      {
        node_id: row.node_id,
        node_name: row.node_name,
        kind: row.kind,
        turn: row.turn,
        step: row.step,
        label: row.label,
        ref: row.ref,
        at: row.at.toISOString(),
        line,
        text: around(text, found),
        before: lines.slice(Math.max(0, at - context), at).map((each) => around(each)),
        after: lines.slice(at + 1, at + 1 + context).map((each) => around(each)),
      },
    ]
  })
}

/** A line, or the part of a long one where something was found. */
const around = (line: string, [from]: readonly [number, number] = [0, 0]): string => {
  if (line.length <= lineLength) return line
  const start = Math.max(0, Math.min(from - lineLength / 4, line.length - lineLength))
  const part = line.slice(start, start + lineLength).toWellFormed()
  return `${start > 0 ? '…' : ''}${part}${start + lineLength < line.length ? '…' : ''}`
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
