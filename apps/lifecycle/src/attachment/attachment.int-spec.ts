import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { LifecycleUnderTest, nodeContext } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.from('pixels')])
const picture = { name: 'a.png', base64: png.toString('base64') }
const note = { name: 'n.txt', text: 'grüße' }

const message = (id: string, attachments: unknown[]) =>
  lifecycle.call('nodes.message', { id, body: 'see', tier: 'normal', attachments })
const contentOf = async (id: string, attachment_id: string, ctx?: Parameters<typeof lifecycle.call>[2]) =>
  lifecycle.call('nodes.attachments.retrieve', { id, attachment_id }, ctx)

describe('a message', () => {
  it('brings its attachments with the mail, and their content by id', async () => {
    const { node, broker } = await lifecycle.running()
    await message(node.id, [picture, note])
    const mail = (await broker.claim()).mail.at(-1)
    expect(mail?.attachments).toMatchObject([
      { name: 'a.png', content_type: 'image/png', bytes: png.length },
      { name: 'n.txt', content_type: 'text/plain', bytes: 7 },
    ])
    const contents = await Promise.all(mail?.attachments?.map(({ id }) => contentOf(node.id, id, broker.ctx)) ?? [])
    expect(contents.map(({ base64 }) => Buffer.from(base64, 'base64').toString('latin1'))).toEqual([
      png.toString('latin1'),
      Buffer.from(note.text).toString('latin1'),
    ])
    const event = (await lifecycle.recorded(node.id)).findLast(({ type }) => type === 'message.accepted')
    expect(event?.data.attachments).toEqual(mail?.attachments)
  })

  it('is taken with the prompt as well', async () => {
    const { assignment } = await lifecycle.running({ attachments: [note] })
    expect(assignment.mail[0]?.attachments).toMatchObject([{ name: 'n.txt' }])
  })

  it.each([
    [[{ ...picture, content_type: 'image/jpeg' }], '/attachments/0/content_type'],
    [[note, { name: 'x.png', content_type: 'image/png', text: 'no picture' }], '/attachments/1/content_type'],
    [[{ name: 'both', text: 'a', base64: 'YQ==' }], '/attachments/0'],
    [[{ name: 'neither' }], '/attachments/0'],
  ])('refuses %j', async (attachments, pointer) => {
    const node = await lifecycle.create()
    const error = await failure(message(node.id, attachments))
    expect(error.fields.errors?.map((fault) => fault.pointer)).toEqual([pointer])
  })

  // Thirty long messages made an entry of the journal that no request could carry; pictures weigh more.
  it('counts with what it carries where a claim ends', async () => {
    const { node, broker } = await lifecycle.running()
    const large = { name: 'large', base64: Buffer.alloc(500 * 1024, 7).toString('base64') }
    for (let at = 0; at < 3; at += 1) await message(node.id, [large])
    expect((await broker.claim()).mail.map(({ kind }) => kind)).toEqual(['prompt', 'message', 'message'])
  })
})

describe('a report', () => {
  it('carries its attachments to the subscribers, and shows what they are in the list', async () => {
    const parent = await lifecycle.running()
    const child = await lifecycle.running({ parent_id: parent.node.id })
    const report = await child.broker.call('nodes.reports.push', {
      kind: 'update',
      body: 'look',
      attachments: [picture],
    })
    expect(report.attachments).toMatchObject([{ name: 'a.png', content_type: 'image/png' }])
    const forwarded = (await parent.broker.claim()).mail.find(({ kind }) => kind === 'report')?.attachments?.[0]
    const { base64 } = await contentOf(parent.node.id, forwarded?.id as string, parent.broker.ctx)
    expect(base64).toBe(picture.base64)
    const listed = await lifecycle.call('nodes.reports.list', { id: child.node.id, limit: 50 })
    expect(listed.data[0]?.attachments).toEqual(report.attachments)
    const stored = await lifecycle.database.query('SELECT 1 FROM canvas.blobs WHERE size = $1', [png.length])
    expect(stored).toHaveLength(1)
  })
})

describe('retrieve', () => {
  it('answers alike of an attachment that is not there and of another node', async () => {
    const { node, broker } = await lifecycle.running()
    await message(node.id, [note])
    const id = (await broker.claim()).mail.at(-1)?.attachments?.[0]?.id as string
    const stranger = await lifecycle.create()
    const refused = [contentOf(stranger.id, id), contentOf(node.id, id, nodeContext(stranger.id))]
    expect((await Promise.all(refused.map((one) => failure(one)))).map(({ code }) => code)).toEqual([
      'not_found',
      'not_found',
    ])
  })
})
