import { isIP } from 'node:net'
import { baseUrlOf, type Settings } from '#common/kernel/config.js'
import { BoundedCache } from '../tokens/bounded.cache.js'

const form = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:\d{1,5})?$/i

/**
 * The name in a Host header, without port and in one spelling: lower case, no dot at its end, an address as browsers write
 * it. Undefined for what is no name.
 */
export const hostNameOf = (host: string): string | undefined => {
  if (!form.test(host) || !URL.canParse(`http://${host}`)) return undefined
  const name = new URL(`http://${host}`).hostname.replace(/\.$/, '')
  return name === '' ? undefined : name
}

const isAddress = (name: string): boolean => isIP(name.replace(/^\[|\]$/g, '')) !== 0

/** What the owner opened while the daemon runs. */
export interface ReachedBy {
  /** `host:port` of listeners. */
  readonly listen: readonly string[]
  readonly hosts: readonly string[]
}

/** Host names under which this daemon may be called. A page that rebinds a name of its own to this machine has another. */
export class AllowedHosts {
  readonly #fixed: readonly string[]
  #names: ReadonlySet<string> = new Set()
  #anyAddress = false
  /** What was answered for a header: clients send the same one again and again. */
  readonly #known = new BoundedCache<string, boolean>(100)

  constructor(settings: Settings) {
    const listens = [settings.SVC_OWNER_LISTEN, settings.SVC_APP_LISTEN]
    const extra = (settings.SVC_ALLOWED_HOSTS ?? '').split(',').map((name) => name.trim())
    this.#fixed = ['localhost', '127.0.0.1', '[::1]', new URL(baseUrlOf(settings)).host, ...listens, ...extra]
    this.allow({ listen: [], hosts: [] })
  }

  /** Takes the place of what was opened before. */
  allow({ listen, hosts }: ReachedBy): void {
    const names = [...this.#fixed, ...listen, ...hosts].flatMap((host) => hostNameOf(host) ?? [])
    this.#names = new Set(names)
    this.#known.clear()
    this.#anyAddress = names.some((name) => name === '0.0.0.0' || name === '[::]')
  }

  /** An address can't be rebound, so that one who listens on all of them is called by any. */
  allows(host: string): boolean {
    const known = this.#known.get(host)
    if (known !== undefined) return known
    const answer = this.#judge(host)
    this.#known.set(host, answer)
    return answer
  }

  #judge(host: string): boolean {
    const name = hostNameOf(host)
    return name !== undefined && (this.#names.has(name) || (this.#anyAddress && isAddress(name)))
  }
}
