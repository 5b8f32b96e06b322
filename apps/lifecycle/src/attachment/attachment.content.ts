import { createHash } from 'node:crypto'
import { type AttachmentInput, attachmentLimits } from '#common/contract/attachment.schema.js'
import { imageTypes } from '#common/contract/broker.schema.js'
import { type FieldFault, SvcError } from '#common/kernel/errors.js'

/** A content that can be kept: its bytes, and what it is. */
export interface ReadAttachment {
  readonly name: string
  readonly content_type: string
  readonly bytes: number
  readonly hash: string
  readonly content: Buffer
}

/**
 * The attachments of a request. What an image is stands in its first bytes: a content that says otherwise is refused.
 *
 * @throws SvcError validation_failed; payload_too_large with `limit` when they have more than 4 MiB together
 */
export const readAttachments = (inputs: readonly AttachmentInput[] = []): ReadAttachment[] => {
  const faults = inputs.flatMap((input, at) => faultOf(input, `/attachments/${at}`))
  if (faults.length > 0) throw new SvcError('validation_failed', undefined, { errors: faults })
  const read = inputs.map(readOne)
  const total = read.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total > attachmentLimits.bytes) {
    throw new SvcError('payload_too_large', 'The attachments are too large.', { limit: attachmentLimits.bytes })
  }
  return read
}

const readOne = (input: AttachmentInput): ReadAttachment => {
  const content = contentOf(input)
  const usual = input.text === undefined ? 'application/octet-stream' : 'text/plain'
  return {
    name: input.name,
    content_type: imageTypeOf(content) ?? input.content_type?.toLowerCase() ?? usual,
    bytes: content.length,
    hash: createHash('sha256').update(content).digest('hex'),
    content,
  }
}

const contentOf = ({ text, base64 }: AttachmentInput): Buffer =>
  text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text)

const faultOf = (input: AttachmentInput, at: string): FieldFault[] => {
  if ((input.text === undefined) === (input.base64 === undefined)) {
    return [{ pointer: at, message: 'has either text or base64' }]
  }
  const claimed = input.content_type?.toLowerCase()
  const found = imageTypeOf(contentOf(input))
  const mistaken = claimed !== undefined && claimed !== found && (found !== undefined || isImage(claimed))
  return mistaken ? [{ pointer: `${at}/content_type`, message: `is ${found ?? 'no such image'} by its content` }] : []
}

const isImage = (type: string): boolean => (imageTypes as readonly string[]).includes(type)

/** Of the kinds that models take. */
export const imageTypeOf = (content: Buffer): (typeof imageTypes)[number] | undefined => {
  const begins = (hex: string, at = 0): boolean => content.subarray(at, at + hex.length / 2).toString('hex') === hex
  if (begins('89504e470d0a1a0a')) return 'image/png'
  if (begins('ffd8ff')) return 'image/jpeg'
  if (begins('474946383761') || begins('474946383961')) return 'image/gif'
  if (begins('52494646') && begins('57454250', 8)) return 'image/webp'
  return undefined
}
