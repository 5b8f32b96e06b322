import type { IncomingMessage } from 'node:http'

/**
 * A target that is a whole address, as proxies are sent it (RFC 9112, 3.2.2), becomes its path; the router knows no other.
 *
 * @returns the host that it named, which must be one of this daemon's as Host must.
 */
export const takeOriginForm = (request: IncomingMessage): string | undefined => {
  const [, authority, rest = ''] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(request.url ?? '') ?? []
  if (authority === undefined) return undefined
  request.url = rest.startsWith('/') ? rest : `/${rest}`
  return authority
}
