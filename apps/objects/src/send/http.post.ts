import { promises as dns, type LookupAddress } from 'node:dns'
import * as http from 'node:http'
import * as https from 'node:https'
import type { LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'
import type { Clock } from '#common/kernel/clock.js'
import { requireAllowedAddresses, requireAllowedUrl } from './address.js'

/** All addresses of a name. */
export type Resolver = (hostname: string) => Promise<readonly LookupAddress[]>

export const systemResolver: Resolver = (hostname) => dns.lookup(hostname, { all: true, verbatim: true })

export interface Post {
  readonly url: string
  readonly allowPrivate: boolean
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}

export interface PostAnswer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  /** Its first 64 KiB; the rest is not read. */
  readonly body: Buffer
}

/** The answer did not come, or did not end, in time. */
export class TooSlow extends Error {
  /** @param status of an answer that had begun */
  constructor(readonly status: number | undefined) {
    super('too slow')
  }
}

/** Ms from the first step towards a connection to the end of the answer. */
export const postWithin = 10_000
const longestAnswer = 64 * 1024
/** Connections of one origin that are kept open for what comes next, and for how long (ms). */
const keptSockets = 2
const keptFor = 15_000

type Agents = Readonly<Record<'http:' | 'https:', http.Agent>>

/**
 * Sends one POST to an address that is not to be trusted. A name is resolved once, all that it leads to is looked at, and
 * the connection goes to what was looked at: a name that leads elsewhere a moment later leads nowhere. A redirect is an
 * answer like any other. Nothing of the environment has a say: no proxy, no switched-off check of certificates.
 */
export class HttpPost {
  readonly #strict: Agents
  readonly #lenient: Agents

  /** @param ca certificates that count besides the system's */
  constructor(
    private readonly clock: Clock,
    private readonly resolve: Resolver = systemResolver,
    ca?: string,
  ) {
    // apart, so that no connection to a private address is found open by who may not have it
    this.#strict = this.#agents(false, ca)
    this.#lenient = this.#agents(true, ca)
  }

  /** @throws SvcError `receiver_refused`, TooSlow, the network's own error, the signal's reason */
  async send(post: Post): Promise<PostAnswer> {
    requireAllowedUrl(post.url, post.allowPrivate)
    const limit = new AbortController()
    let status: number | undefined
    const callOff = this.clock.after(postWithin, () => limit.abort(new TooSlow(status)))
    const signal = AbortSignal.any([post.signal, limit.signal])
    const begun = (answered: number): void => {
      status = answered
    }
    try {
      return await this.#exchange(post, signal, begun).catch((error: unknown) => {
        // it was closed by the other side while nobody used it, as may happen at any time
        if (isStale(error) && !signal.aborted) return this.#exchange(post, signal, begun)
        throw error
      })
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    } finally {
      callOff()
    }
  }

  /** Ends connections that are kept open. */
  close(): void {
    for (const agents of [this.#strict, this.#lenient]) for (const agent of Object.values(agents)) agent.destroy()
  }

  #agents(allowPrivate: boolean, ca: string | undefined): Agents {
    const options = {
      keepAlive: true,
      maxFreeSockets: keptSockets,
      timeout: keptFor,
      lookup: this.#lookup(allowPrivate),
    }
    const trust = ca === undefined ? {} : { ca: [...rootCertificates, ca] }
    return {
      'http:': new http.Agent(options),
      'https:': new https.Agent({ ...options, rejectUnauthorized: true, ...trust }),
    }
  }

  #lookup(allowPrivate: boolean): LookupFunction {
    return (hostname, options, callback) => {
      this.resolve(hostname)
        .then((found) => requireAllowedAddresses(hostname, found, allowPrivate))
        .then(
          (vetted) => {
            const [first] = vetted
            if (!first) callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '')
            else if (options.all) callback(null, [...vetted])
            else callback(null, first.address, first.family)
          },
          (error: NodeJS.ErrnoException) => callback(error, ''),
        )
    }
  }

  #exchange(
    { url, allowPrivate, headers, body }: Post,
    signal: AbortSignal,
    onStatus: (status: number) => void,
  ): Promise<PostAnswer> {
    const { protocol } = new URL(url)
    const agents = allowPrivate ? this.#lenient : this.#strict
    const { request } = protocol === 'https:' ? https : http
    return new Promise((resolve, reject) => {
      const sent = request(url, {
        agent: agents[protocol as keyof Agents],
        method: 'POST',
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        signal,
      })
      const fail = (error: Error): void => reject(Object.assign(error, { reused: sent.reusedSocket }))
      sent.on('error', fail)
      sent.on('response', (answer) => {
        onStatus(answer.statusCode as number)
        sent.off('close', unanswered)
        read(answer).then(resolve, reject)
      })
      // without an error where the other side wants to speak another protocol
      const unanswered = (): void => fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' }))
      sent.on('close', unanswered)
      sent.end(body)
    })
  }
}

/** Whether a connection that was kept open broke before any answer. */
const isStale = (error: unknown): boolean => {
  const { code, reused } = error as NodeJS.ErrnoException & { reused?: boolean }
  return reused === true && (code === 'ECONNRESET' || code === 'EPIPE')
}

/** The answer, as much as is wanted of it. */
const read = (answer: http.IncomingMessage): Promise<PostAnswer> =>
  new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let bytes = 0
    const finish = (): void => {
      const body = Buffer.concat(pieces).subarray(0, longestAnswer)
      resolve({ status: answer.statusCode as number, headers: answer.headers, body })
    }
    answer.on('data', (piece: Buffer) => {
      pieces.push(piece)
      bytes += piece.length
      if (bytes < longestAnswer) return
      finish()
      answer.destroy()
    })
    answer.on('end', finish)
    answer.on('error', reject)
  })
