import { describe, expect, it } from '@jest/globals'
import { newId } from '#common/kernel/ids.js'
import { waitFor } from '#common/testing/wait-for.js'
import { text } from '../../../../test/support/broker-routes.js'
import { setStage } from '../../../../test/support/running-broker.js'

const stage = setStage()

/** One pixel. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe('what is attached to mail', () => {
  it('reaches the model: images as such, texts in a fence, cut in sight, the rest by its name', async () => {
    const node = stage.routes.node({ cwd: stage.cwd, lifecycle: 'resident' }, () => [text('thanks')])
    const attach = (name: string, content_type: string, content: Buffer) => {
      const id = newId('att')
      node.attached.set(id, content)
      return { id, name, content_type, bytes: content.length }
    }
    node.post('look at these', {
      attachments: [
        attach('dot.png', 'image/png', png),
        attach('notes.md', 'text/plain', Buffer.from('a\n```\nb\n```\n')),
        attach('long.txt', 'text/plain', Buffer.from(`${'y'.repeat(50_000)}end`)),
        attach('tool.bin', 'application/octet-stream', Buffer.from([0, 1, 2, 255])),
        attach('broken.png', 'image/png', png.subarray(0, 12)),
        { id: newId('att'), name: 'lost.txt', content_type: 'text/plain', bytes: 3 },
      ],
    })
    stage.broker.serve(node, stage.routes.url)
    await waitFor(() => node.entries('turn_ended').length === 1)
    const content = node.calls[0]!.messages.at(-1)!.content
    expect(content.filter(({ type }) => type === 'image')).toEqual([
      { type: 'image', content_type: 'image/png', base64: png.toString('base64') },
    ])
    const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    expect(texts).toContain('[Attached: notes.md]\n````\na\n```\nb\n```\n````')
    const long = texts.find((one) => one.includes('yyy'))
    expect(long).toMatch(/2003 more characters of long.txt \(att_\w+\) were left out/)
    expect(long!.length).toBeLessThan(48_300)
    expect(texts.find((one) => one.includes('tool.bin'))).toMatch(/4 bytes; neither text nor an image/)
    expect(texts.find((one) => one.includes('broken.png'))).toMatch(/too large to be shown, or damaged/)
    expect(texts.find((one) => one.includes('lost.txt'))).toMatch(/could not be read: There is none/)
  })
})
