import { createHash } from 'node:crypto'
import type { AuditEntry, AuditPage } from '#sdk/index.js'

type Link = AuditPage['anchor']

/** What a walk over the whole log found. */
export interface Verdict {
  /** Lines that follow from those before them. */
  readonly verified: number
  /** What was pruned before the first of them. */
  readonly anchor: Link
  readonly head: Link
  /** The first line that is missing or was changed. */
  readonly broken_at: number | null
}

/** As RFC 8785 writes it: members in order, no space; of whole numbers, texts and null. */
const canonical = (value: unknown): string => {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).sort(([one], [two]) => (one < two ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
}

const follows = ({ hash, ...line }: AuditEntry, before: Link): boolean =>
  line.seq === before.seq + 1 &&
  hash === createHash('sha256').update(Buffer.from(before.hash, 'hex')).update(canonical(line), 'utf8').digest('hex')

/**
 * Walks the log from its anchor to the line that was the newest when it began, and computes each hash anew.
 *
 * @param read a page of the log, oldest first, of lines after a number
 */
export const verify = async (read: (sinceSeq: number) => Promise<AuditPage>): Promise<Verdict> => {
  let page = await read(0)
  const { head } = page
  let { anchor } = page
  let before = anchor
  let verified = 0
  for (;;) {
    const verdict = (broken: number | null): Verdict => ({ verified, anchor, head, broken_at: broken })
    for (const line of page.data) {
      if (line.seq > head.seq) break
      if (!follows(line, before)) return verdict(Math.min(line.seq, before.seq + 1))
      before = { seq: line.seq, hash: line.hash }
      verified += 1
    }
    if (before.seq >= head.seq) return verdict(before.hash === head.hash ? null : before.seq)
    page = await read(before.seq)
    // what was pruned meanwhile needs no check any more
    if (page.anchor.seq > before.seq) {
      anchor = page.anchor
      before = anchor
      if (before.seq >= head.seq) return verdict(null)
    } else if (page.data.length === 0) return verdict(before.seq + 1)
  }
}
