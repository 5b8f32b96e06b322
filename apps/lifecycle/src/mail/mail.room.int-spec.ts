import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { nodeLimits } from '#common/contract/node.schema.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { LifecycleUnderTest } from '../../../../test/support/lifecycle-service.js'
import { agents } from '../context/context.fixture.js'

let lifecycle: LifecycleUnderTest
let id: string

/** A node that rests with a full box. */
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  await lifecycle.joinModels()
  id = (await agents(() => lifecycle).resting({ mode: 'orchestrator', lifecycle: 'resident' })).node.id
  const { epoch } = await lifecycle.call('lifecycle.status', {})
  await lifecycle.database.query(
    `SET svc.epoch = '${epoch}'; INSERT INTO canvas.mail (id, node_id, seq, tier, kind, body, source, engagement, created_at)
     SELECT 'msg_' || n, '${id}', 1000 + n, 'deferred', 'notice', 'n', '{"kind":"system","id":null}', 1, now()
       FROM generate_series(1, ${nodeLimits.unreadMail}) n`,
  )
})
afterAll(() => lifecycle.stop())

// What changed a node again and again filled its box without an end.
it.each([
  ['nodes.message', { body: 'one more' }],
  ['nodes.revive', { mode: 'resume' }],
  ['nodes.update', { lifecycle: 'terminal' }],
  ['nodes.demote', {}],
  ['nodes.roadmap.write', { text: 'another plan' }],
  [
    'human.requests.create',
    { kind: 'deck', title: 'May I?', pages: [{ id: 'p', kind: 'notify', title: 'p', options: [] }] },
  ],
] as const)('%s is refused while the box of the node is full, and changes nothing', async (operation, input) => {
  const before = await lifecycle.retrieve(id)
  const about = operation === 'human.requests.create' ? { node_id: id } : { id }
  const refused = await failure(lifecycle.call(operation, { ...input, ...about } as never))
  expect(refused).toMatchObject({ code: 'quota_exceeded', fields: { limit: 'unread_mail' } })
  expect(await lifecycle.retrieve(id)).toEqual(before)
})
