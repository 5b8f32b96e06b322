import { describe, expect, it } from '@jest/globals'
import type { MailEntry } from '#sdk/generated/types.js'
import { takenAtOnce, withinRecord } from './mail.attachments.js'

const mail = (body: string): MailEntry => ({
  id: 'msg_1',
  seq: 1,
  tier: 'normal',
  kind: 'message',
  body,
  source: { kind: 'owner', id: null },
  created_at: '2026-01-01T00:00:00.000Z',
})

describe('the mail of one turn', () => {
  // A hundred messages of 256 KiB made an entry of the journal that the daemon refuses: the node died of its mail.
  it('is as much as one entry of the journal holds, and one piece in any case', () => {
    const large = mail('x'.repeat(256 * 1024))
    expect(takenAtOnce(Array.from({ length: 100 }, () => large))).toBe(8)
    expect(takenAtOnce([mail('x'.repeat(3 * 1024 * 1024)), large])).toBe(1)
    expect(takenAtOnce([mail('a'), mail('b')])).toBe(2)
    expect(takenAtOnce([])).toBe(0)
  })

  it('holds the first of its images, and names the others', () => {
    const image = { type: 'image', content_type: 'image/png', base64: 'x'.repeat(3 * 1024 * 1024) } as const
    expect(withinRecord([image, image]).map(({ type }) => type)).toEqual(['image', 'text'])
  })
})
