import { createHash } from 'node:crypto'
import type { AuditEntry, AuditPage } from '#common/contract/audit.operations.js'

/** JSON as RFC 8785 writes it, of what has no numbers but whole ones: as any other program would check a line. */
const canonical = (value: unknown): string => {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
}

/** The first line, oldest first, that does not follow from those before it; undefined when all do, up to the head. */
export const brokenAt = (
  lines: readonly AuditEntry[],
  { anchor, head }: Pick<AuditPage, 'anchor' | 'head'>,
): number | undefined => {
  let before = anchor
  for (const { hash, ...line } of lines) {
    const expected = createHash('sha256').update(Buffer.from(before.hash, 'hex')).update(canonical(line)).digest('hex')
    if (line.seq !== before.seq + 1 || hash !== expected) return line.seq
    before = { seq: line.seq, hash }
  }
  return before.seq === head.seq && before.hash === head.hash ? undefined : before.seq + 1
}
