import { describe, expect, it } from '@jest/globals'
import type { MailEntry } from '#sdk/generated/types.js'
import { firstInput, mailLine } from './exec.input.js'
import { ExecRecord } from './exec.record.js'

const mail = (id: string, body: string): MailEntry => ({
  id,
  seq: 1,
  tier: 'normal',
  kind: 'message',
  body,
  source: { kind: 'owner', id: null },
  created_at: '2026-01-01T00:00:00.000Z',
})

describe('the input of a program', () => {
  it('is its prompt and then its mail, a line of JSON each', () => {
    const lines = firstInput('jsonl', [mail('m1', 'do\nthis'), mail('m2', 'and that')])
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as unknown)
    expect(lines).toEqual([
      { type: 'prompt', id: 'm1', body: 'do\nthis' },
      {
        type: 'mail',
        id: 'm2',
        tier: 'normal',
        kind: 'message',
        body: 'and that',
        source: { kind: 'owner', id: null },
      },
    ])
    expect(mailLine(mail('m3', 'x'))).toMatch(/^\{.*\}\n$/)
  })

  it('is the plain text for a program that reads text', () => {
    expect(firstInput('text', [mail('m1', 'one'), mail('m2', 'two')])).toBe('one\n\ntwo')
  })
})

describe('the record of a program', () => {
  const recorded = () => {
    const told: string[] = []
    return { told, record: new ExecRecord((channel, text) => told.push(`${channel}:${text}`)) }
  }

  it('streams whole characters, however the writes were cut', () => {
    const { told, record } = recorded()
    const bytes = Buffer.from('grüße €')
    for (const byte of bytes) record.add('stdout', Buffer.from([byte]))
    expect(told.map((text) => text.slice(7)).join('')).toBe('grüße €')
    expect(told.join('')).not.toContain('\uFFFD')
  })

  it('reports what was printed, without what was complained about', () => {
    const { record } = recorded()
    expect(record.report).toBe('The program ended with exit code 0 and printed nothing.')
    record.add('stdout', Buffer.from('result\n'))
    record.add('stderr', Buffer.from('careful\n'))
    expect(record.report).toBe('result')
    expect(record.output).toBe('result\ncareful\n')
  })

  it('says of a failure how the program ended and what it said last', () => {
    const { record } = recorded()
    expect(record.failure({ code: 3, signal: null })).toBe(
      'The program ended with exit code 3 and wrote nothing to its standard error.',
    )
    record.add('stderr', Buffer.from(`${'x'.repeat(5000)}\nno such file\n`))
    const said = record.failure({ code: null, signal: 'SIGSEGV' })
    expect(said).toMatch(/was ended by SIGSEGV.*no such file$/s)
    expect(said.length).toBeLessThan(4000)
  })

  it('keeps at most 256 KiB', () => {
    const { record } = recorded()
    for (let written = 0; written < 64; written += 1) record.add('stdout', Buffer.alloc(16 * 1024, 'y'))
    expect(Buffer.byteLength(record.output)).toBeLessThan(257 * 1024)
  })
})
