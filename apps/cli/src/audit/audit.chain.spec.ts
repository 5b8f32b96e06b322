import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import type { AuditEntry, AuditPage } from '#sdk/index.js'
import { verify } from './audit.chain.js'

const zero = '0'.repeat(64)
const pageSize = 3

/** A log of so many lines, hashed from texts that are written out here. */
const written = (count: number): AuditEntry[] => {
  const lines: AuditEntry[] = []
  for (let seq = 1, before = zero; seq <= count; seq += 1) {
    const text = `{"actor":{"kind":"owner","principal":"owner","token_id":null},"at":"2026-01-01T00:00:00.000Z","code":null,"decision":"allowed","listener":"owner","operation":"focuses.set","remote":null,"repeated":1,"request_id":"r${seq}","resource":"/v1/focuses/1","seq":${seq}}`
    before = createHash('sha256').update(Buffer.from(before, 'hex')).update(text).digest('hex')
    lines.push({ ...JSON.parse(text), hash: before })
  }
  return lines
}

const linkOf = ({ seq, hash }: AuditEntry): AuditPage['head'] => ({ seq, hash })

const reader =
  (lines: readonly AuditEntry[], head = linkOf(lines.at(-1) as AuditEntry), pruned?: AuditEntry) =>
  async (sinceSeq: number): Promise<AuditPage> => {
    const rest = lines.filter(({ seq }) => seq > sinceSeq && seq > (pruned?.seq ?? 0))
    const data = rest.slice(0, pageSize)
    const anchor = pruned ? linkOf(pruned) : { seq: 0, hash: zero }
    return { data, next_cursor: null, has_more: rest.length > pageSize, anchor, head }
  }

describe('the check of the log', () => {
  it('passes what was written, page by page', async () => {
    expect(await verify(reader(written(10)))).toMatchObject({ verified: 10, broken_at: null })
    const empty = { data: [], next_cursor: null, has_more: false, anchor: { seq: 0, hash: zero } }
    expect(await verify(async () => ({ ...empty, head: { seq: 0, hash: zero } }))).toMatchObject({
      verified: 0,
      broken_at: null,
    })
  })

  it('begins behind what was pruned', async () => {
    const lines = written(10)
    expect(await verify(reader(lines, undefined, lines[3]))).toMatchObject({ verified: 6, broken_at: null })
  })

  it('goes on where a prune overtakes it', async () => {
    const lines = written(10)
    let reads = 0
    const overtaken = (sinceSeq: number) => reader(lines, undefined, reads++ === 0 ? undefined : lines[6])(sinceSeq)
    expect(await verify(overtaken)).toMatchObject({ broken_at: null, anchor: { seq: 7 } })
  })

  it.each([1, 4, 10])('finds that line %d was changed', async (seq) => {
    const lines = written(10).map((line) => (line.seq === seq ? { ...line, request_id: 'other' } : line))
    expect(await verify(reader(lines))).toMatchObject({ verified: seq - 1, broken_at: seq })
  })

  it('finds that one was taken out, in the middle or at the end', async () => {
    const lines = written(10)
    const head = linkOf(lines[9] as AuditEntry)
    expect(
      await verify(
        reader(
          lines.filter(({ seq }) => seq !== 5),
          head,
        ),
      ),
    ).toMatchObject({ broken_at: 5 })
    expect(await verify(reader(lines.slice(0, 8), head))).toMatchObject({ broken_at: 9 })
  })

  it('is not held up by lines that are written meanwhile', async () => {
    const lines = written(10)
    expect(await verify(reader(lines, linkOf(lines[5] as AuditEntry)))).toMatchObject({ verified: 6, broken_at: null })
  })
})
