import { Webhook } from 'standardwebhooks'
import type { Clock } from '#common/kernel/clock.js'
import { version } from '#common/kernel/version.js'
import type { SigningKey } from '../object/signing.secret.js'
import type { Addressee, Carrier, Outcome, Outgoing } from './carrier.js'
import { messageOf } from './event.message.js'
import { faultOf, shownHead } from './fault.js'
import { type HttpPost, type PostAnswer, postWithin, TooSlow } from './http.post.js'
import { retryAfterOf } from './retry.schedule.js'

/**
 * Deliveries to an address, as Standard Webhooks says: signed, each with its id, acknowledged by any 2xx. A receiver that
 * answers 410 is sent nothing more.
 */
export class UrlCarrier implements Carrier {
  readonly kind = 'url'
  readonly receivers = 128
  readonly lanes = 8
  readonly batch = 1

  constructor(
    private readonly posts: HttpPost,
    private readonly key: SigningKey,
    private readonly clock: Clock,
  ) {}

  carry(to: Addressee, deliveries: readonly Outgoing[], signal: AbortSignal): Promise<readonly Outcome[]> {
    return Promise.all(deliveries.map((delivery) => this.#send(to, delivery, signal)))
  }

  close(): void {
    this.posts.close()
  }

  async #send(to: Addressee, delivery: Outgoing, signal: AbortSignal): Promise<Outcome> {
    const { receiver } = to
    if (receiver?.type !== 'url') return { kind: 'later', ms: 0 }
    const body = JSON.stringify(messageOf(delivery))
    const { url, allow_private: allowPrivate } = receiver
    try {
      const headers = this.#headers(to, delivery, body)
      return this.#outcomeOf(await this.posts.send({ url, allowPrivate, headers, body, signal }))
    } catch (error) {
      if (signal.aborted) return { kind: 'later', ms: 0 }
      return { kind: 'failed', error: error instanceof TooSlow ? slowness(error) : faultOf(error) }
    }
  }

  #headers(to: Addressee, { id, traceparent }: Outgoing, body: string): Record<string, string> {
    const now = new Date(this.clock.now())
    const { current, former } = this.key.secretsOf(to, now)
    return {
      'content-type': 'application/json',
      'user-agent': `svc/${version}`,
      'accept-encoding': 'identity',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': [current, ...former].map((secret) => new Webhook(secret).sign(id, now, body)).join(' '),
      ...(traceparent !== null && { traceparent }),
    }
  }

  #outcomeOf({ status, headers, body }: PostAnswer): Outcome {
    if (status >= 200 && status < 300) return { kind: 'acked' }
    const text = shownHead(body.toString('utf8'))
    const said = text === '' ? '.' : `: ${text}`
    if (status === 410) return { kind: 'gone', error: `The receiver answered 410, it is gone${said}` }
    if (status >= 300 && status < 400) {
      const to = shownHead(headers.location ?? 'nowhere')
      return { kind: 'failed', error: `The receiver answered ${status}, a redirect to ${to}, which is not followed.` }
    }
    const retryAfterMs = retryAfterOf(headers['retry-after'], this.clock.now())
    const error = `The receiver answered ${status}${said}`
    return { kind: 'failed', error, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  }
}

const slowness = ({ status }: TooSlow): string =>
  status === undefined
    ? `The receiver did not answer within ${postWithin / 1000} seconds.`
    : `The receiver answered ${status}, but its answer did not end within ${postWithin / 1000} seconds.`
