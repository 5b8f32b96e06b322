import type { FastifyReply } from 'fastify'

export interface Content {
  readonly name: string
  readonly content_type: string
  readonly base64: string
}

/** Types that no browser runs anything of; any other is told as bytes, whatever its maker said. */
const harmless = /^(image\/(png|jpeg|gif|webp)|text\/plain|application\/(json|pdf|octet-stream))$/

/** The name for old clients, and as it is for those that know RFC 8187. */
const dispositionOf = (name: string): string => {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const whole = encodeURIComponent(name).replace(
    /['()*]/g,
    (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`
}

/** Content that somebody sent: offered to be saved, never shown as a page of the daemon. */
export const writeBytes = (reply: FastifyReply, { name, content_type, base64 }: Content): void => {
  const type = harmless.test(content_type) ? content_type : 'application/octet-stream'
  reply
    .code(200)
    .header('content-type', type === 'text/plain' ? 'text/plain; charset=utf-8' : type)
    .header('content-disposition', dispositionOf(name.toWellFormed()))
    .send(Buffer.from(base64, 'base64'))
}
