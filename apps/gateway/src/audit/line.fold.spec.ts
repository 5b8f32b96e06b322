import { describe, expect, it } from '@jest/globals'
import type { AuditLine } from './audit.line.js'
import { LineFold } from './line.fold.js'

const line = (changes: Partial<AuditLine> = {}): AuditLine => ({
  at: 0,
  actor: { kind: 'nobody', principal: 'nobody', token_id: null },
  operation: 'nodes.list',
  resource: '/v1/nodes',
  decision: 'denied',
  code: 'token_missing',
  listener: 'owner',
  remote: '10.0.0.1',
  request_id: 'r',
  repeated: 1,
  ...changes,
})
const total = (lines: AuditLine[]): number => lines.reduce((sum, { repeated }) => sum + repeated, 0)

describe('a line', () => {
  it('is given out within 200 ms, with those that came meanwhile and differ in their time alone', () => {
    const fold = new LineFold()
    for (let at = 0; at < 10; at += 1) fold.add(line({ at, request_id: `r${at}` }), at)
    fold.add(line({ remote: '10.0.0.2' }), 10)
    expect(fold.due).toBe(200)
    expect(fold.take(199)).toEqual([])
    expect(fold.take(210)).toEqual([line({ request_id: 'r0', repeated: 10 }), line({ remote: '10.0.0.2' })])
  })

  it('that goes on coming is given out ever more seldom, down to once a minute', () => {
    const fold = new LineFold()
    const given: AuditLine[] = []
    for (let now = 0; now < 600_000; now += 10) {
      fold.add(line({ at: now }), now)
      given.push(...fold.take(now))
    }
    expect(given.length).toBeLessThan(18)
    expect(total([...given, ...fold.take(600_000, true)])).toBe(60_000)
    expect(given.at(-1)?.at).toBeGreaterThan(400_000)
  })

  it('that comes no more is forgotten', () => {
    const fold = new LineFold()
    fold.add(line(), 0)
    fold.take(200)
    expect(fold.take(1200)).toEqual([])
    expect(fold.due).toBeUndefined()
  })
})

describe('a flood of different lines', () => {
  it('is told by who sends it and why it is refused once there are a hundred, and loses none', () => {
    const fold = new LineFold()
    for (let at = 0; at < 5000; at += 1) fold.add(line({ resource: `/v1/nodes/${at}` }), 0)
    const lines = fold.take(0, true)
    expect(lines.length).toBe(101)
    expect(lines.at(-1)).toMatchObject({ operation: null, resource: null, remote: null, repeated: 4900 })
    expect(total(lines)).toBe(5000)
  })

  it('of strangers takes nothing of what those with a token cause', () => {
    const fold = new LineFold()
    for (let at = 0; at < 500; at += 1) fold.add(line({ resource: `/v1/nodes/${at}` }), 0)
    const known = line({ actor: { kind: 'app', principal: 'app:a', token_id: 'tok_1' }, code: 'scope_missing' })
    fold.add(known, 0)
    expect(fold.take(0, true)).toContainEqual(known)
  })
})
