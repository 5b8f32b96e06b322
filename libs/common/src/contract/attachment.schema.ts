import { z } from 'zod'
import { idOf } from './common.schema.js'

export const attachmentLimits = {
  count: 8,
  /** Decoded bytes, of each and of all of one message together. */
  bytes: 4 * 1024 * 1024,
  nameLength: 128,
  /** Body of a route that takes them: base64 and the text beside it. */
  body: 7 * 1024 * 1024,
} as const

export const attachmentId = idOf('att')

/** Named like a file, without a path: it is shown, and offered as the name of a download. */
const attachmentName = z
  .string()
  .min(1)
  .max(attachmentLimits.nameLength)
  .regex(/^[^/\\\p{Cc}]+$/u, 'must be the name of a file, without a path')

export const contentType = z
  .string()
  .max(128)
  .regex(/^[\w.+-]+\/[\w.+-]+$/, 'must be type/subtype')

const encoded = /^[A-Za-z0-9+/]*={0,2}$/

export const attachmentInput = z.strictObject({
  name: attachmentName,
  content_type: contentType.optional().meta({
    description: 'Found out of the content for images; else text/plain for text, application/octet-stream for base64',
  }),
  text: z.string().max(attachmentLimits.bytes).optional(),
  base64: z
    .string()
    .max(Math.ceil(attachmentLimits.bytes / 3) * 4)
    .refine((text) => text.length % 4 === 0 && encoded.test(text), 'must be base64')
    .optional(),
})
export type AttachmentInput = z.infer<typeof attachmentInput>

export const attachmentInputs = z
  .array(attachmentInput)
  .max(attachmentLimits.count)
  .optional()
  .meta({ description: `At most ${attachmentLimits.count}, together at most 4 MiB; \`text\` or \`base64\` each` })

/** What is known of an attachment besides its content. */
export const attachmentInfo = z
  .object({ id: attachmentId, name: z.string(), content_type: z.string(), bytes: z.int().min(0) })
  .meta({ id: 'Attachment' })
export type AttachmentInfo = z.infer<typeof attachmentInfo>

/** As it crosses the bus; on HTTP it is the bytes themselves. */
export const attachmentContent = z.object({ name: z.string(), content_type: z.string(), base64: z.string() })
