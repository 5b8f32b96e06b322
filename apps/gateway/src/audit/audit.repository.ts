import { Inject, Injectable } from '@nestjs/common'
import type { AuditEntry, AuditPage, auditOperations } from '#common/contract/audit.operations.js'
import type { InputOf } from '#common/contract/define.js'
import { isoTime } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import { cursorAfter, pageOf, readCursor } from '#common/kernel/database/cursor.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { lockHead } from './audit.chain.js'

type Asked = InputOf<(typeof auditOperations)[0]>

interface Row {
  readonly seq: number
  readonly at: Date
  readonly actor_kind: AuditEntry['actor']['kind']
  readonly principal: string
  readonly token_id: string | null
  readonly operation: string | null
  readonly resource: string | null
  readonly decision: AuditEntry['decision']
  readonly code: string | null
  readonly listener: AuditEntry['listener']
  readonly remote: string | null
  readonly request_id: string
  readonly repeated: number
  readonly hash: Buffer
}

interface Ends {
  readonly head_seq: number
  readonly head_hash: Buffer
  readonly anchor_seq: number
  readonly anchor_hash: Buffer
}

const entryOf = ({ actor_kind, principal, token_id, at, hash, ...row }: Row): AuditEntry => ({
  seq: row.seq,
  at: isoTime(at.getTime()),
  actor: { kind: actor_kind, principal, token_id },
  operation: row.operation,
  resource: row.resource,
  decision: row.decision,
  code: row.code,
  listener: row.listener,
  remote: row.remote,
  request_id: row.request_id,
  repeated: row.repeated,
  hash: hash.toString('hex'),
})

/** Lines of one transaction that prunes: short, since whoever appends waits for it. */
const prunedAtOnce = 1000

/** @throws SvcError validation_failed, for the cursor of another list too */
const seqOf = (cursor: string | undefined): number | undefined => {
  const at = readCursor(cursor)
  if (at && !/^\d{1,15}$/.test(at.id)) {
    throw new SvcError('validation_failed', undefined, {
      errors: [{ pointer: '/after', message: 'must be the next_cursor of an earlier page of this list' }],
    })
  }
  return at && Number(at.id)
}

/** One text for each set of filters. Ends and lines are of one moment, since a statement sees one. */
const listing = (asked: Asked, cursor: number | undefined): { text: string; values: unknown[] } => {
  const values: unknown[] = [asked.limit + 1]
  const placed = (value: unknown): string => `$${values.push(value)}`
  const newest = asked.order === 'newest'
  const conditions = [
    ...(asked.decision === undefined ? [] : [`decision = '${asked.decision}'`]),
    ...(asked.principal === undefined ? [] : [`principal = ${placed(asked.principal)}`]),
    ...(asked.operation === undefined ? [] : [`operation = ${placed(asked.operation)}`]),
    ...(asked.since_seq === undefined ? [] : [`seq > ${placed(asked.since_seq)}`]),
    ...(cursor === undefined ? [] : [`seq ${newest ? '<' : '>'} ${placed(cursor)}`]),
  ]
  const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''
  return {
    text: `
      SELECT h.seq AS head_seq, h.hash AS head_hash, h.anchor_seq, h.anchor_hash, a.*
      FROM gateway.audit_head h LEFT JOIN LATERAL (
        SELECT seq, at, actor_kind, principal, token_id, operation, resource, decision, code, listener, remote,
          request_id, repeated, hash
        FROM gateway.audit ${where} ORDER BY seq ${newest ? 'DESC' : 'ASC'} LIMIT $1
      ) a ON true ORDER BY a.seq ${newest ? 'DESC' : 'ASC'}`,
    values,
  }
}

@Injectable()
export class AuditRepository {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Writer) private readonly writer: Writer,
  ) {}

  /** @throws SvcError validation_failed for a cursor that is none */
  async list(asked: Asked): Promise<AuditPage> {
    const { text, values } = listing(asked, seqOf(asked.after))
    const rows = await this.database.query<Row & Ends>(text, values)
    const ends = rows[0]
    if (!ends) throw new Error('gateway.audit_head has no row')
    const lines = rows.filter(({ seq }) => seq !== null)
    const page = pageOf(lines, asked.limit, (row) => cursorAfter(row.at, String(row.seq)))
    return {
      ...page,
      data: page.data.map(({ head_seq: _s, head_hash: _h, anchor_seq: _a, anchor_hash: _n, ...row }) => entryOf(row)),
      anchor: { seq: ends.anchor_seq, hash: ends.anchor_hash.toString('hex') },
      head: { seq: ends.head_seq, hash: ends.head_hash.toString('hex') },
    }
  }

  /**
   * Deletes the oldest lines of before a time (ms), at most `prunedAtOnce`, and moves the anchor behind them in the same
   * transaction. A line that is older than one before it waits for that one.
   *
   * @returns how many went
   */
  prune(before: number): Promise<number> {
    return this.writer.transact(systemContext('gateway'), async ({ tx }) => {
      await lockHead(tx)
      const oldest = await tx.query<Pick<Row, 'seq' | 'at' | 'hash'>>(
        'SELECT seq, at, hash FROM gateway.audit ORDER BY seq LIMIT $1',
        [prunedAtOnce],
      )
      const kept = oldest.findIndex(({ at }) => at.getTime() >= before)
      const gone = kept === -1 ? oldest : oldest.slice(0, kept)
      const last = gone.at(-1)
      if (!last) return 0
      tx.send('UPDATE gateway.audit_head SET anchor_seq = $1, anchor_hash = $2 WHERE id = 1', [last.seq, last.hash])
      return tx.count('DELETE FROM gateway.audit WHERE seq <= $1', [last.seq])
    })
  }
}
