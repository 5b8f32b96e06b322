import { isoTime } from '#common/kernel/clock.js'
import type { Tx } from '#common/kernel/database/tx.js'
import { type AuditLine, hashOf } from './audit.line.js'

/** A place in the chain. */
export interface Link {
  readonly seq: number
  readonly hash: Buffer
}

const LOCK = 'SELECT seq, hash FROM gateway.audit_head WHERE id = 1 FOR UPDATE'
const INSERT = `
  INSERT INTO gateway.audit (seq, at, actor_kind, principal, token_id, operation, resource, decision, code, listener,
    remote, request_id, repeated, hash)
  SELECT * FROM unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::int[], $14::bytea[])`
const MOVE = 'UPDATE gateway.audit_head SET seq = $1, hash = $2 WHERE id = 1'

/** The end of the chain, locked until commit: whoever appends waits here, so that all gateways write one chain. */
export const lockHead = async (tx: Tx): Promise<Link> => {
  const [head] = await tx.query<Link>(LOCK)
  if (!head) throw new Error('gateway.audit_head has no row')
  return head
}

/** Appends lines behind a head that this transaction has locked; answers the new one. They stand with its commit. */
export const appendLines = (tx: Tx, head: Link, lines: readonly AuditLine[]): Link => {
  let { seq, hash } = head
  const hashes = lines.map((line) => {
    seq += 1
    hash = hashOf(hash, line, seq)
    return hash
  })
  const column = (of: (line: AuditLine) => unknown): unknown[] => lines.map(of)
  tx.send(INSERT, [
    lines.map((_, at) => head.seq + 1 + at),
    column(({ at }) => isoTime(at)),
    column(({ actor }) => actor.kind),
    column(({ actor }) => actor.principal),
    column(({ actor }) => actor.token_id),
    column(({ operation }) => operation),
    column(({ resource }) => resource),
    column(({ decision }) => decision),
    column(({ code }) => code),
    column(({ listener }) => listener),
    column(({ remote }) => remote),
    column(({ request_id }) => request_id),
    column(({ repeated }) => repeated),
    hashes,
  ])
  tx.send(MOVE, [seq, hash])
  return { seq, hash }
}

/** Whether this very line stands. */
export const hasLink = async (tx: Tx, { seq, hash }: Link): Promise<boolean> =>
  (await tx.query('SELECT 1 FROM gateway.audit WHERE seq = $1 AND hash = $2', [seq, hash])).length > 0
