import { expect, it } from '@jest/globals'
import type { MailEntry } from '#sdk/generated/types.js'
import { mailPart } from './mail.text.js'

const mail = (more: Partial<MailEntry>): MailEntry => ({
  id: 'msg_1',
  seq: 1,
  tier: 'urgent',
  kind: 'event',
  body: 'build.failed of the object …',
  source: { kind: 'object', id: 'obj_1', name: 'build-server' },
  created_at: '2026-01-01T00:00:00.000Z',
  ...more,
})
const shown = (more: Partial<MailEntry>): string => (mailPart(mail(more)) as { text: string }).text

it('an event of what a node watches says which one it is, and whose', () => {
  const event = { id: 'evt_1', name: 'build.failed', trace_id: null }
  expect(shown({ source: { kind: 'object', id: 'obj_1', name: 'build-server', event } })).toBe(
    '[Event build.failed of build-server (obj_1), urgent]\nbuild.failed of the object …',
  )
  expect(shown({ source: { kind: 'node', id: 'node_1', event } })).toMatch(
    /^\[Event build\.failed of node_1, urgent\]\n/,
  )
})
