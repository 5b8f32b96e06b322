import { isUtf8 } from 'node:buffer'
import { SvcError } from '#sdk/errors.js'
import type { ContentPart, MailEntry } from '#sdk/generated/types.js'
import type { DaemonClient } from '../daemon/daemon.client.js'
import { dimensionsOf, imageBytes, imageSide, imageTypeOf } from '../tools/file.kind.js'

type Attachment = NonNullable<MailEntry['attachments']>[number]

/** Characters of one text that are shown. */
const shownCharacters = 48_000
/** Bytes of a text that are looked at. */
const readBytes = 4 * 1024 * 1024

const note = (text: string): ContentPart => ({ type: 'text', text })

const fenceOf = (text: string): string => {
  const longest = text.match(/`{3,}/g)?.reduce((most, run) => Math.max(most, run.length), 2) ?? 2
  return '`'.repeat(longest + 1)
}

const textPart = ({ id, name }: Attachment, text: string): ContentPart => {
  const fence = fenceOf(text)
  const shown = text.slice(0, shownCharacters)
  const cut =
    text.length > shown.length
      ? `\n[… ${text.length - shown.length} more characters of ${name} (${id}) were left out; whoever sent it has the whole …]`
      : ''
  return note(`[Attached: ${name}]\n${fence}\n${shown.replace(/\n$/, '')}\n${fence}${cut}`)
}

const imageParts = ({ name }: Attachment, bytes: Buffer): ContentPart[] => {
  const type = imageTypeOf(bytes)
  const sides = type && dimensionsOf(type, bytes)
  // A provider refuses the whole conversation for one that it can't take, now and in every later turn.
  if (!type || !sides || bytes.length > imageBytes || Math.max(sides.width, sides.height) > imageSide) {
    return [note(`[Attached: ${name}, an image of ${bytes.length} bytes that is too large to be shown, or damaged.]`)]
  }
  return [
    note(`[Attached: ${name}, ${type}, ${sides.width} × ${sides.height} pixels]`),
    { type: 'image', content_type: type, base64: bytes.toString('base64') },
  ]
}

const partsOfOne = async (
  attachment: Attachment,
  daemon: DaemonClient,
  signal: AbortSignal,
): Promise<ContentPart[]> => {
  const { id, name, content_type, bytes: size } = attachment
  const what = `${name}, ${content_type}, ${size} bytes`
  if (size > readBytes) return [note(`[Attached: ${what}; too large to be shown.]`)]
  try {
    const bytes = Buffer.from(await daemon.bytes(`attachments/${id}`, { signal }))
    if (imageTypeOf(bytes)) return imageParts(attachment, bytes)
    if (isUtf8(bytes) && !bytes.includes(0)) return [textPart(attachment, bytes.toString('utf8'))]
    return [note(`[Attached: ${what}; neither text nor an image that can be shown.]`)]
  } catch (error) {
    if (!(error instanceof SvcError)) throw error
    return [note(`[Attached: ${what}; it could not be read: ${error.message}]`)]
  }
}

/** Characters of base64 that one entry of the journal may hold in images, beside its texts. */
const imageRoom = 4 * 1024 * 1024

/** Images beyond what can be recorded at once are named only, the later ones first. */
export const withinRecord = (parts: readonly ContentPart[]): ContentPart[] => {
  let room = imageRoom
  return parts.map((part) => {
    if (part.type !== 'image') return part
    room -= part.base64.length
    return room >= 0 ? part : note('[This image came with too many others to be shown.]')
  })
}

/** Bytes of text of the mail that one turn begins with. */
const mailRoom = 2 * 1024 * 1024

/** How many pieces of mail one turn takes: as many as can be recorded as one entry, and one in any case. */
export const takenAtOnce = (mail: readonly MailEntry[]): number => {
  let room = mailRoom
  const over = mail.findIndex(({ body, attachments = [] }) => {
    const shown = attachments.reduce((sum, { bytes }) => sum + Math.min(bytes, shownCharacters * 3), 0)
    room -= Buffer.byteLength(body) + shown
    return room < 0
  })
  return over < 0 ? mail.length : Math.max(1, over)
}

/**
 * What came with a piece of mail: images as such, texts in a fence with their names, anything else named.
 *
 * @throws Ended; the signal's reason
 */
export const attachmentParts = async (
  { attachments = [] }: MailEntry,
  daemon: DaemonClient,
  signal: AbortSignal,
): Promise<ContentPart[]> => (await Promise.all(attachments.map((one) => partsOfOne(one, daemon, signal)))).flat()
