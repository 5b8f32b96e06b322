import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { MockModel } from '#common/testing/mock-model.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'
import { tapWire, type WireTap } from '../support/wire-tap.js'

let daemon: TestDaemon
let mock: MockModel
let tap: WireTap

beforeAll(async () => {
  ;[daemon, mock] = await Promise.all([TestDaemon.start(), MockModel.start()])
  tap = await tapWire(mock.baseUrl('openai-compatible'))
  const added = await svc(daemon, [
    ...['model', 'add', 'openai-compatible', '--name', 'mock', '--model', 'm-1'],
    ...['--base-url', `${tap.url}/v1`],
  ])
  if (added.code !== 0) throw new Error(added.stderr)
})
afterAll(() => Promise.all([daemon.stop(), tap.stop(), mock.stop()]))

const header = Buffer.from('89504e470d0a1a0a0000000d4948445200000010000000100802000000', 'hex')
/** As large as an image may be; what it shows is nobody's concern here. */
const large = (fill: number): Buffer => Buffer.concat([header, Buffer.alloc(3.75 * 1024 * 1024 - header.length, fill)])

describe('an image that a node reads', () => {
  it('reaches the model whole at the largest size, and no event carries it', async () => {
    const images = [large(1), large(2)]
    for (const [at, image] of images.entries()) writeFileSync(join(daemon.workDir, `${at}.png`), image)
    // The newest message of the user is the image itself.
    mock.conversation({}, [
      { toolCalls: [{ name: 'read', input: { path: '0.png' } }] },
      { toolCalls: [{ name: 'read', input: { path: '1.png' } }] },
      { toolCalls: [{ name: 'report', input: { kind: 'final', body: 'seen' } }] },
    ])
    const outcome = await daemon
      .client()
      .nodes.createAndWait({ prompt: 'look at them', cwd: daemon.workDir, lifecycle: 'terminal' })
    expect(outcome).toMatchObject({ status: 'done', final_report: { body: 'seen' } })
    const [first, second] = images.map((image) => image.toString('base64'))
    const [, afterFirst, afterSecond] = tap.bodies.filter((body) => body.includes('"messages"'))
    expect(afterFirst?.includes(first as string)).toBe(true)
    // Both are more than one call takes: the older one makes room, and the model is told.
    expect(afterSecond?.includes(second as string)).toBe(true)
    expect(afterSecond?.includes(first as string)).toBe(false)
    expect(afterSecond).toContain('left out to make room for newer ones')

    const events = await daemon.client().nodes.events(outcome.node_id, { limit: 200 }).recorded()
    const shown = events.data.filter(({ type }) => type === 'tool.ended').map(({ data }) => data.images)
    expect(shown.slice(0, 2)).toEqual([[{ content_type: 'image/png' }], [{ content_type: 'image/png' }]])
    expect(JSON.stringify(events).length).toBeLessThan(100_000)
  })
})
