import { describe, expect, it } from '@jest/globals'
import type { StreamItem } from '#sdk/index.js'
import { Output } from '../output/output.js'
import { NodeView } from './node.view.js'

const id = 'node_01jd0000000000000000000000'

const shown = (...items: readonly (readonly [type: string, data: Record<string, unknown>])[]): string => {
  const written: string[] = []
  const stream = { isTTY: false, write: (text: string) => written.push(text), on: () => stream }
  const view = new NodeView(new Output(stream as never, stream as never, {}), id)
  for (const [type, data] of items) view.show({ type, subject: id, data } as unknown as StreamItem)
  view.rest()
  return written.join('')
}
const delta = (text: string, offset = 0, part: Record<string, unknown> = {}) =>
  ['delta', { node_id: id, generation: 1, message: 1, channel: 'text', offset, text, ...part }] as const
const completed = (text: string) =>
  ['message.completed', { role: 'assistant', content: [{ type: 'text', text }] }] as const
const ended = (name: string, output: string, fields: Record<string, unknown> = {}) =>
  ['tool.ended', { call_id: 'c', name, status: 'completed', output, truncated: false, ...fields }] as const
const output = (channel: string) => ({ channel, call_id: 'c' })

describe('a node at work', () => {
  it('says each word once, whether its text came live, in part, late or not at all', () => {
    expect(shown(delta('Hello '), delta('world', 6), completed('Hello world'))).toBe('Hello world\n')
    expect(shown(delta('Hello '), completed('Hello world'), delta('world', 6))).toBe('Hello world\n')
    expect(shown(completed('Hello world'))).toBe('Hello world\n')
    expect(shown(completed('one'), delta('two', 0, { message: 2 }), completed('two'))).toBe('one\ntwo\n')
  })

  it('shows what a program printed at its very end, and what was too quick to come live', () => {
    expect(shown(ended('bash', 'quick'))).toBe('quick\n')
    expect(
      shown(
        delta('a\n', 0, output('stdout')),
        delta('b\n', 0, output('stderr')),
        ended('exec', 'a\nb\nc\n', { status: 'failed', exit_code: 3 }),
      ),
    ).toBe('a\nb\nc\n  exec: failed, exit code 3\n')
    expect(shown(ended('read', '1\tsecret of many lines'))).toBe('')
    expect(shown(delta('a\n', 0, output('tool_output')), ended('bash', 'a [cut]', { truncated: true }))).toBe('a\n')
  })

  it('does not print a report again that was shown just now as text or output', () => {
    const report = (body: string) => ['report.pushed', { kind: 'final', body }] as const
    expect(shown(completed('3 files'), report('3 files'))).toBe('3 files\nfinal report: as above\n')
    expect(shown(ended('exec', 'fine\n'), report('fine'))).toBe('fine\nfinal report: as above\n')
    expect(shown(completed('looking'), report('3 files'))).toBe('looking\nfinal report\n3 files\n')
  })

  it('does not guess at what came without its beginning', () => {
    const snapshot = [
      'message.snapshot',
      { node_id: id, generation: 1, message: 1, channel: 'text', text: 'world', truncated: true },
    ] as const
    expect(shown(snapshot, completed('Hello world'))).toBe('world\n')
  })
})
