import { describe, expect, it } from '@jest/globals'
import { attachmentInput, attachmentLimits } from '#common/contract/attachment.schema.js'
import { imageTypeOf, readAttachments } from './attachment.content.js'

const codeOf = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return (error as { code?: string }).code
  }
}

describe('the type of an image', () => {
  it.each([
    ['89504e470d0a1a0a00', 'image/png'],
    ['ffd8ffe0', 'image/jpeg'],
    ['474946383961', 'image/gif'],
    ['524946460000000057454250', 'image/webp'],
    ['3c737667', undefined],
    ['', undefined],
  ])('%s is %s', (hex, type) => {
    expect(imageTypeOf(Buffer.from(hex, 'hex'))).toBe(type)
  })
})

describe('attachments', () => {
  it('take 4 MiB together and not a byte more', () => {
    const half = { name: 'half', text: 'a'.repeat(attachmentLimits.bytes / 2) }
    expect(readAttachments([half, half]).map(({ bytes }) => bytes)).toEqual([2097152, 2097152])
    expect(codeOf(() => readAttachments([half, half, { name: 'b', text: 'b' }]))).toBe('payload_too_large')
  })

  it('count the bytes of a text, not its characters', () => {
    const text = 'ü'.repeat(attachmentLimits.bytes / 2)
    expect(codeOf(() => readAttachments([{ name: 'a', text: `${text}ü` }]))).toBe('payload_too_large')
  })

  it.each(['../a', 'a/b', 'a\\b', 'a\nb', ''])('are never called %j', (name) => {
    expect(attachmentInput.safeParse({ name, text: '' }).success).toBe(false)
  })

  it('are base64 as it is written, and no other text', () => {
    expect(attachmentInput.safeParse({ name: 'a', base64: 'YQ' }).success).toBe(false)
    expect(attachmentInput.safeParse({ name: 'a', base64: 'Y Q=' }).success).toBe(false)
    expect(attachmentInput.safeParse({ name: 'a', base64: 'YQ==' }).success).toBe(true)
  })
})
