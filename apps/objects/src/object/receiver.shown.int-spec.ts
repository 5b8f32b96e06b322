import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { nodeCall, ObjectsUnderTest, ownerCall } from '../../../../test/support/objects-service.js'

let objects: ObjectsUnderTest
beforeAll(async () => {
  objects = await ObjectsUnderTest.start()
})
afterAll(() => objects.stop())

const node = nodeCall('node_00000000000000000000000001')

// A node that was talked into it read the address, a secret of many services, and the program's environment.
it.each([
  [
    'url',
    { type: 'url', url: 'https://hooks.example:8443/services/T0/s3cret?key=s3cret', allow_private: false },
    { type: 'url', url: 'https://hooks.example:8443/', allow_private: false },
  ],
  [
    'argv',
    { type: 'argv', argv: ['notify', '--key', 's3cret'], cwd: '/srv', env: { KEY: 's3cret' } },
    { type: 'argv', argv: ['notify'] },
  ],
  ['queue', { type: 'queue' }, { type: 'queue' }],
])('what a receiver of the kind %s holds is for the owner alone', async (name, given, outlined) => {
  const [receiver, shown] = [given, outlined].map((each) => ({ ...each, max_pending: 7 }))
  const body = { name, description: '', catalog: [], receiver, app_id: null, watches: [], rotate: false }
  await objects.call('objects.object.register', body as never, ownerCall({ idempotencyKey: name }))
  const one = (ctx: typeof node) => objects.call('customObjects.retrieve', { ref: name }, ctx)
  const first = async (ctx: typeof node) => (await objects.call('customObjects.list', { limit: 1 }, ctx)).data[0]
  for (const read of [one, first]) {
    expect((await read(ownerCall()))?.receiver).toEqual(receiver)
    expect((await read(node))?.receiver).toEqual(shown)
  }
})
