import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { ObjectsUnderTest } from '../../../../test/support/objects-service.js'

let objects: ObjectsUnderTest
beforeAll(async () => {
  objects = await ObjectsUnderTest.start()
})
afterAll(() => objects?.stop())

let names = 0
const register = (more: object = {}) =>
  objects.call('objects.object.register', { name: `object-${++names}`, app_id: null, ...more })
const refusal = (work: Promise<unknown>): Promise<SvcError> =>
  work.then(
    () => {
      throw new Error('it was taken')
    },
    (error: SvcError) => error,
  )

const catalog = (type: string) => [{ event: 'built', description: '', payload_schema: { type } }]

// The advice was to send a field that a registration doesn't have.
it('what would break somebody can be forced by the way that the refusal of a registration with `rotate` names', async () => {
  const { name } = await register({ catalog: catalog('string') })
  const again = () => register({ name, rotate: true, catalog: catalog('number') })
  const { code, fields } = await refusal(again())
  expect([code, fields.remedy]).toEqual([
    'catalog_incompatible',
    expect.stringContaining(`svc custom-object update ${name}`),
  ])
  await objects.call('customObjects.update', { ref: name, catalog: catalog('number'), force: true })
  expect(await again()).toMatchObject({ existed: true, catalog: catalog('number') })
})

// The last one replaced the others in silence.
it('a source that is to be watched twice is refused, by whatever names', async () => {
  const source = await register({ catalog: [...catalog('string'), { event: 'failed' }] })
  const watching = (second: string) => ({
    name: `object-${++names}`,
    receiver: { type: 'queue' },
    watches: [
      { source: source.name, events: ['built'] },
      { source: second, events: ['failed'] },
    ],
  })
  for (const second of [source.name, source.id]) {
    const body = watching(second)
    const { code, fields } = await refusal(register(body))
    expect([code, fields.errors]).toEqual([
      'validation_failed',
      [{ pointer: '/watches/1/source', message: 'is the same as that of /watches/0: name all its events there' }],
    ])
    expect((await refusal(objects.call('customObjects.retrieve', { ref: body.name }))).code).toBe('not_found')
  }
  expect((await refusal(register(watching(newId('obj'))))).code).toBe('not_found')
  expect((await register(watching((await register({ catalog: [{ event: 'failed' }] })).id))).existed).toBe(false)
})
