import { createHash } from 'node:crypto'
import type { AuditEntry } from '#common/contract/audit.operations.js'
import { isoTime } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'

/** What is to be written: a line without its place in the chain. */
export interface AuditLine extends Omit<AuditEntry, 'seq' | 'at' | 'hash'> {
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** What of a line its hash covers, with its members in the order of RFC 8785. */
const coveredBy = (line: AuditLine, seq: number): Omit<AuditEntry, 'hash'> => ({
  actor: { kind: line.actor.kind, principal: line.actor.principal, token_id: line.actor.token_id },
  at: isoTime(line.at),
  code: line.code,
  decision: line.decision,
  listener: line.listener,
  operation: line.operation,
  remote: line.remote,
  repeated: line.repeated,
  request_id: line.request_id,
  resource: line.resource,
  seq,
})

/** Of a line at its place: SHA-256 over the hash of the line before and the canonical JSON of this one. */
export const hashOf = (before: Uint8Array, line: AuditLine, seq: number): Buffer =>
  createHash('sha256')
    .update(before)
    .update(JSON.stringify(coveredBy(line, seq)), 'utf8')
    .digest()

/** Of what the gateway does by itself. @param resource what it was done to */
export const ownLine = (now: number, operation: string, resource: string | null): AuditLine => {
  const { actor, requestId } = systemContext('gateway')
  return {
    at: now,
    actor: { kind: 'system', principal: actor.principal, token_id: null },
    operation,
    resource,
    decision: 'allowed',
    code: null,
    listener: 'owner',
    remote: null,
    request_id: requestId,
    repeated: 1,
  }
}
