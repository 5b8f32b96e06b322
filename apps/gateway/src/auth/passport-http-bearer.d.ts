declare module 'passport-http-bearer' {
  import type { IncomingHttpHeaders } from 'node:http'

  export interface BearerOptions {
    realm?: string
    scope?: string | string[]
    passReqToCallback?: boolean
  }
  type Done = (error: unknown, user?: unknown, info?: unknown) => void

  /** The strategy of RFC 6750. `options` comes first and may be left out. */
  export class Strategy {
    constructor(options: BearerOptions, verify: (request: object, token: string, done: Done) => void)
    constructor(verify: (token: string, done: Done) => void)
    name: string
    authenticate(request: { headers: IncomingHttpHeaders }): void
  }
}
