import type { FastifyReply, FastifyRequest } from 'fastify'
import { baseUrlOf, type Settings } from '#common/kernel/config.js'
import { SvcError } from '#common/kernel/errors.js'
import { version } from '#common/kernel/version.js'
import { type Entrance, stateOf } from './request.state.js'

/** On every response. Nothing here is a page: no script, no frame, no cache, no guessing of types. */
export const commonHeaders = {
  'svc-version': version,
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

const nameOf = (host: string): string => host.replace(/:\d+$/, '').toLowerCase()

const isAddress = (name: string): boolean => /^\d{1,3}(\.\d{1,3}){3}$/.test(name) || /^\[[0-9a-f:.]+\]$/.test(name)

/** Host names under which this daemon may be called. A page that rebinds a name of its own to this machine has another. */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>
  readonly #anyAddress: boolean

  constructor(settings: Settings) {
    const listens = [settings.SVC_OWNER_LISTEN, settings.SVC_APP_LISTEN].map(nameOf)
    const extra = (settings.SVC_ALLOWED_HOSTS ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
    this.#names = new Set([
      'localhost',
      '127.0.0.1',
      '[::1]',
      nameOf(new URL(baseUrlOf(settings)).host),
      ...listens,
      ...extra.map(nameOf),
    ])
    this.#anyAddress = listens.some((name) => name === '0.0.0.0' || name === '[::]')
  }

  /** An address can't be rebound, so that one who listens on all of them is called by any. */
  allows(host: string | undefined): boolean {
    if (host === undefined) return false
    const name = nameOf(host)
    return this.#names.has(name) || (this.#anyAddress && isAddress(name))
  }
}

/** No browser reaches a socket of the file system. */
const requireHost = ({ socket }: Entrance, host: string | undefined, hosts: AllowedHosts): void => {
  if (!socket && !hosts.allows(host)) throw new SvcError('host_forbidden')
}

/** The owner's listener serves no page of any origin; the application's its own alone. */
const requireOrigin = ({ listener }: Entrance, origin: string | undefined, host: string | undefined): void => {
  if (origin === undefined) return
  if (listener === 'app' && origin === `http://${host}`) return
  throw new SvcError('host_forbidden')
}

/** What holds for every request, before its token is looked at. */
export const edgeHook = (hosts: AllowedHosts, isDraining: () => boolean) => {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.headers(commonHeaders).header('x-request-id', request.id)
    if (isDraining()) reply.header('connection', 'close')
    const { entrance } = stateOf(request)
    const { host, origin } = request.headers
    requireHost(entrance, host, hosts)
    requireOrigin(entrance, origin, host)
  }
}
