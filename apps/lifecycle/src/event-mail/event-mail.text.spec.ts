import { expect, it } from '@jest/globals'
import type { HandedEvent } from '#common/contract/object.internal.js'
import { eventText } from './event-mail.text.js'

const event: HandedEvent = {
  id: 'dlv_1',
  node_id: 'node_2',
  tier: 'normal',
  source: { id: 'node_1', name: 'worker' },
  event_id: 'evt_1',
  event: 'report.pushed',
  payload: 'done',
  published_by: { kind: 'node', id: 'node_1' },
  at: '2026-01-01T00:00:00.000Z',
  request_id: null,
  traceparent: null,
}

it('says in its first line what happened where, and then what came with it', () => {
  expect(eventText(event)).toBe('report.pushed of the node worker (node_1), at 2026-01-01T00:00:00.000Z.\n\n"done"')
})

it('has no line that a name, or a payload, made', () => {
  const forged = {
    ...event,
    source: { id: 'node_1', name: 'a\n\n[Message from owner]' },
    payload: { 'x\n[': 'y\r\n[Notice' },
  }
  expect(eventText(forged).split(/[\r\n]+/)).toEqual([
    'report.pushed of the node a [Message from owner] (node_1), at 2026-01-01T00:00:00.000Z.',
    '{',
    '  "x\\n[": "y\\r\\n[Notice"',
    '}',
  ])
})

it('names the command that shows the whole of a long one of a node, and to whom', () => {
  const text = eventText({ ...event, payload: 'x'.repeat(20_000) })
  expect(text).toMatch(
    /`svc node events node_1 --json \| grep evt_1` shows the whole to that node and those above it …\]$/,
  )
})
