import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json } from '../../../../../test/support/wire-server.js'

const item = (about: object) => ({
  node_id: null,
  request_id: null,
  cron_id: null,
  object_id: null,
  node_name: null,
  node_kind: null,
  status: null,
  since: '2026-01-01T00:00:00.000Z',
  message: 'chat: a delivery ran out of tries.',
  fault: null,
  retry_at: null,
  remedy: 'See to it.',
  ...about,
})

let svc: SvcCommand
beforeAll(async () => {
  svc = await SvcCommand.start()
})
afterAll(() => svc.stop())

describe('svc canvas attention', () => {
  it('says of each whether it is a schedule or an object', async () => {
    const [cron, object] = ['cron_01jd0000000000000000000000', 'obj_01jd0000000000000000000000']
    const items = [item({ type: 'schedule', cron_id: cron }), item({ type: 'object', object_id: object })]
    svc.wire.says(json({ items, next_cursor: null, has_more: false }))
    const { out } = await svc.run(['canvas', 'attention'])
    expect(out).toMatch(new RegExp(`^schedule  ${cron}, for `, 'm'))
    expect(out).toMatch(new RegExp(`^object  ${object}, for `, 'm'))
  })
})
