import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { newId } from '#common/kernel/ids.js'
import { makeCertificate } from '#common/testing/certificate.js'
import { waitFor } from '#common/testing/wait-for.js'
import { MovedClock } from '../../../../test/support/moved-clock.js'
import { SigningKey } from '../object/signing.secret.js'
import type { Addressee, Outcome, Outgoing } from './carrier.js'
import { HttpPost, type Resolver } from './http.post.js'
import { UrlCarrier } from './url.carrier.js'
import { answers, verified, WebhookReceiver } from './webhook.receiver.fixture.js'

const key = new SigningKey(randomBytes(32))
const never = new AbortController().signal

let clock: MovedClock
let receiver: WebhookReceiver
let posts: HttpPost
const opened: HttpPost[] = []

const post = (resolver?: Resolver, ca?: string): HttpPost => {
  const made = new HttpPost(clock, resolver, ca)
  opened.push(made)
  return made
}

beforeEach(async () => {
  clock = new MovedClock()
  receiver = await WebhookReceiver.start()
  posts = post()
})
afterEach(async () => {
  for (const made of opened.splice(0)) made.close()
  await receiver.close()
})

const addressee = (more: { url?: string; allow_private?: boolean } & Partial<Addressee> = {}): Addressee => {
  const { url = receiver.url, allow_private = true, ...rest } = more
  return {
    id: newId('obj'),
    name: 'hook',
    receiver_version: 1,
    secret: 1,
    former_secret: null,
    former_secret_until: null,
    receiver: { type: 'url', url, allow_private, max_pending: 100 },
    ...rest,
  }
}

const delivery = (more: Partial<Outgoing> = {}): Outgoing => ({
  id: newId('dlv'),
  seq: 3,
  attempt: 1,
  planned_at: null,
  source_id: 'obj_1',
  source_name: 'build-server',
  event_id: 'evt_1',
  event: 'build.failed',
  payload: { branch: 'main', text: 'schön' },
  published_by: { kind: 'owner', id: null },
  request_id: null,
  traceparent: null,
  tier: null,
  accepted_at: new Date('2026-01-02T03:04:05.678Z'),
  ...more,
})

const send = async (
  to: Addressee = addressee(),
  sent: Outgoing = delivery(),
  { by = posts, signal = never }: { by?: HttpPost; signal?: AbortSignal } = {},
): Promise<Outcome> => (await new UrlCarrier(by, key, clock).carry(to, [sent], signal))[0] as Outcome

const failure = async (...asked: Parameters<typeof send>): Promise<string> => {
  const outcome = await send(...asked)
  if (outcome.kind !== 'failed') throw new Error(`it is ${outcome.kind}`)
  return outcome.error
}

describe('a delivery to an address', () => {
  it('is a POST that the library of Standard Webhooks verifies, and any 2xx acknowledges it', async () => {
    const [to, sent] = [addressee(), delivery({ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` })]
    for (const status of [200, 202, 204]) {
      receiver.answer = answers.status(status)
      expect(await send(to, sent)).toEqual({ kind: 'acked' })
    }
    const [request] = receiver.requests
    if (!request) throw new Error('nothing came')
    expect(verified(request, key.secretsOf(to, new Date(clock.now())).current)).toEqual({
      id: sent.id,
      type: 'build.failed',
      timestamp: '2026-01-02T03:04:05.678Z',
      data: { branch: 'main', text: 'schön' },
      source: { id: 'obj_1', name: 'build-server' },
      event_id: 'evt_1',
      seq: 3,
      trace_id: 'a'.repeat(32),
    })
    expect(request).toMatchObject({
      path: '/hook',
      headers: {
        'webhook-id': sent.id,
        'content-type': 'application/json',
        'accept-encoding': 'identity',
        'user-agent': expect.stringMatching(/^svc\/\d/),
        traceparent: sent.traceparent,
      },
    })
    expect(request.headers['transfer-encoding']).toBeUndefined()
  })

  it('is not believed by who knows another secret, nor with another body', async () => {
    const to = addressee()
    await send(to)
    const [request] = receiver.requests
    if (!request) throw new Error('nothing came')
    const { current } = key.secretsOf(to, new Date(clock.now()))
    expect(() => verified(request, key.secretsOf({ ...to, secret: 2 }, new Date(clock.now())).current)).toThrow(
      'No matching',
    )
    expect(() => verified({ ...request, body: request.body.replace('main', 'evil') }, current)).toThrow('No matching')
  })

  it('is signed with both secrets while a rotation overlaps, the new one first, and then with the new one', async () => {
    const until = new Date(clock.now() + 60_000)
    const former = addressee()
    const to = { ...former, secret: 2, former_secret_until: until }
    const [old, current] = [former, to].map((one) => key.secretsOf(one, new Date(0)).current) as [string, string]
    await send(to)
    clock.advance(60_001)
    await send(to)
    const [during, after] = receiver.requests
    if (!during || !after) throw new Error('nothing came')
    for (const secret of [old, current]) expect(verified(during, secret)).toMatchObject({ type: 'build.failed' })
    const signatures = String(during.headers['webhook-signature']).split(' ')
    expect(signatures).toHaveLength(2)
    const first = { ...during, headers: { ...during.headers, 'webhook-signature': signatures[0] as string } }
    expect(verified(first, current)).toMatchObject({ type: 'build.failed' })
    expect(verified(after, current)).toMatchObject({ type: 'build.failed' })
    expect(() => verified(after, old)).toThrow('No matching')
  })

  it('says why it failed: the status and how the answer begins', async () => {
    receiver.answer = answers.status(500, `<h1>${'Oops '.repeat(100)}\0`)
    const said = await failure()
    expect(said).toMatch(/^The receiver answered 500: <h1>Oops Oops/)
    expect(said.length).toBeLessThan(240)
    expect(said).not.toMatch(/\p{Cc}/u)
  })

  it('is told by its answer how long to wait', async () => {
    receiver.answer = answers.status(503, '', { 'retry-after': '90' })
    expect(await send()).toEqual({ kind: 'failed', error: 'The receiver answered 503.', retryAfterMs: 90_000 })
  })

  it('finds that nobody is there any more by a 410', async () => {
    receiver.answer = answers.status(410, 'moved out')
    expect(await send()).toEqual({ kind: 'gone', error: 'The receiver answered 410, it is gone: moved out' })
  })

  it.each([301, 302, 303, 307, 308])('follows no redirect (%s)', async (status) => {
    const elsewhere = await WebhookReceiver.start()
    receiver.answer = answers.status(status, '', { location: elsewhere.url })
    expect(await failure()).toBe(
      `The receiver answered ${status}, a redirect to ${elsewhere.url}, which is not followed.`,
    )
    expect(elsewhere.requests).toEqual([])
    await elsewhere.close()
  })

  it('fails when the connection is reset, is closed without an answer, or is refused', async () => {
    receiver.answer = answers.reset
    expect(await failure()).toMatch(/^The connection was reset \(ECONNRESET\)/)
    receiver.answer = answers.close
    expect(await failure()).toMatch(/^The connection was reset \(ECONNRESET\)/)
    expect(receiver.requests).toHaveLength(2)
    const { url, port } = receiver
    await receiver.close()
    expect(await failure(addressee({ url }))).toBe(`The connection was refused (ECONNREFUSED, 127.0.0.1 port ${port}).`)
  })

  it('survives that the other side closes a connection that was kept open', async () => {
    expect(await send()).toEqual({ kind: 'acked' })
    let first = true
    receiver.answer = (response, request) => {
      if (first) response.socket?.destroy()
      else answers.status(204)(response, request)
      first = false
    }
    expect(await send()).toEqual({ kind: 'acked' })
    expect(receiver.requests).toHaveLength(3)
  })

  it('uses one connection for what follows', async () => {
    for (let count = 0; count < 5; count += 1) await send()
    expect(receiver.sockets.size).toBe(1)
  })
})

describe('the time and the length of an answer', () => {
  it.each([
    ['before its headers', answers.hang, 'The receiver did not answer within 10 seconds.'],
    ['in its body', answers.hangInBody, 'The receiver answered 200, but its answer did not end within 10 seconds.'],
  ] as const)('end after 10 seconds when it hangs %s', async (_, answer, said) => {
    receiver.answer = answer
    const outcome = failure()
    await waitFor(() => receiver.requests.length === 1)
    clock.advance(9900)
    expect(await Promise.race([outcome, new Promise((resolve) => setImmediate(resolve, 'waits'))])).toBe('waits')
    // its headers have come by then, where there are any
    for (let turns = 0; turns < 5; turns += 1) await new Promise((resolve) => setImmediate(resolve))
    clock.advance(200)
    expect(await outcome).toBe(said)
    await waitFor(() => [...receiver.sockets].every(({ destroyed }) => destroyed), { what: 'the connection to end' })
  })

  it('end after 64 KiB, which are enough to acknowledge', async () => {
    receiver.answer = answers.endless
    expect(await send()).toEqual({ kind: 'acked' })
    await waitFor(() => [...receiver.sockets].every(({ destroyed }) => destroyed), { what: 'the connection to end' })
    const written = Math.max(...[...receiver.sockets].map(({ bytesWritten }) => bytesWritten))
    expect(written).toBeLessThan(16 * 1024 * 1024)
  })

  it('count for a name that is never resolved, too', async () => {
    let asked = false
    const by = post(() => {
      asked = true
      return new Promise(() => undefined)
    })
    const outcome = failure(addressee({ url: 'http://slow.test/', allow_private: false }), delivery(), { by })
    await waitFor(() => asked)
    clock.advance(10_001)
    expect(await outcome).toBe('The receiver did not answer within 10 seconds.')
  })

  it('are nothing to who stops: what was on its way counts as not sent', async () => {
    receiver.answer = answers.hang
    const stop = new AbortController()
    const outcome = send(addressee(), delivery(), { signal: stop.signal })
    await waitFor(() => receiver.requests.length === 1)
    stop.abort()
    expect(await outcome).toEqual({ kind: 'later', ms: 0 })
  })
})

describe('a name', () => {
  const resolving = (...answered: string[][]) => {
    const asked: string[] = []
    const resolver: Resolver = async (hostname) => {
      asked.push(hostname)
      const addresses = answered[asked.length - 1] ?? answered.at(-1) ?? []
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    }
    return { asked, by: post(resolver) }
  }
  const named = (allow_private = false): Addressee =>
    addressee({ url: `http://receiver.test:${receiver.port}/hook`, allow_private })

  it('that leads to this machine is refused, and nothing is sent', async () => {
    const { by } = resolving(['127.0.0.1'])
    expect(await failure(named(), delivery(), { by })).toMatch(/^receiver\.test leads to 127\.0\.0\.1/)
    expect(receiver.sockets.size).toBe(0)
  })

  it('that leads to this machine among others is refused', async () => {
    const { by } = resolving(['2606:4700::1111', '8.8.8.8', '127.0.0.1'])
    expect(await failure(named(), delivery(), { by })).toMatch(/leads to 127\.0\.0\.1/)
    expect(receiver.sockets.size).toBe(0)
  })

  // DNS rebinding: a name that is public when it is looked at, and this machine when it is connected to
  it('that leads to this machine only when it is asked again is asked once, and nothing is sent here', async () => {
    // an address that was never given to anybody
    const { by, asked } = resolving(['2d00::1'], ['127.0.0.1'])
    const outcome = failure(named(), delivery(), { by })
    await waitFor(() => asked.length === 1)
    clock.advance(10_001)
    expect(await outcome).toMatch(/did not answer|no way to|not answered/)
    expect(asked).toEqual(['receiver.test'])
    expect(receiver.sockets.size).toBe(0)
    // asked anew for the next connection, and refused then
    by.close()
    expect(await failure(named(), delivery(), { by })).toMatch(/leads to 127\.0\.0\.1/)
    expect(receiver.sockets.size).toBe(0)
  })

  it('is connected to at the address that was looked at', async () => {
    const elsewhere = await WebhookReceiver.start({ host: '127.0.0.2' })
    const { by, asked } = resolving(['127.0.0.2'], ['127.0.0.1'])
    const to = addressee({ url: `http://receiver.test:${elsewhere.port}/hook` })
    expect(await send(to, delivery(), { by })).toEqual({ kind: 'acked' })
    expect(asked).toEqual(['receiver.test'])
    expect(elsewhere.requests).toMatchObject([
      { at: '127.0.0.2', headers: { host: `receiver.test:${elsewhere.port}` } },
    ])
    await elsewhere.close()
  })

  it('finds no connection open that a receiver made which may go to private addresses', async () => {
    const { by } = resolving(['127.0.0.1'])
    expect(await send(named(true), delivery(), { by })).toEqual({ kind: 'acked' })
    expect(await failure(named(false), delivery(), { by })).toMatch(/leads to 127\.0\.0\.1/)
    expect(receiver.requests).toHaveLength(1)
  })

  it('that nobody knows is said so', async () => {
    const by = post(async () => {
      throw Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' })
    })
    expect(await failure(named(), delivery(), { by })).toBe('Its name could not be resolved (ENOTFOUND).')
  })

  it.each(['127.1', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]', '127.0.0.1.', 'localhost', 'localhost.'])(
    '%s is refused before anything is asked',
    async (host) => {
      const to = addressee({ url: `http://${host}:${receiver.port}/hook`, allow_private: false })
      expect(await failure(to)).toMatch(/allow_private/)
      expect(receiver.sockets.size).toBe(0)
    },
  )
})

describe('a secure address', () => {
  it('is believed by its certificate alone', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-tls-'))
    const certificate = makeCertificate(directory, 'hook')
    const secure = await WebhookReceiver.start({ tls: certificate })
    try {
      expect(await failure(addressee({ url: secure.url }))).toMatch(/^Its certificate was refused \(/)
      expect(secure.requests).toEqual([])
      const by = post(undefined, readFileSync(certificate.cert, 'utf8'))
      expect(await send(addressee({ url: secure.url }), delivery(), { by })).toEqual({ kind: 'acked' })
      const other = async () => [{ address: '127.0.0.1', family: 4 }]
      const misnamed = post(other, readFileSync(certificate.cert, 'utf8'))
      const url = `https://other.test:${secure.port}/`
      expect(await failure(addressee({ url }), delivery(), { by: misnamed })).toMatch(/ERR_TLS_CERT_ALTNAME_INVALID/)
    } finally {
      await secure.close()
      rmSync(directory, { recursive: true })
    }
  })

  it('that speaks no TLS is said so', async () => {
    expect(await failure(addressee({ url: receiver.url.replace('http:', 'https:') }))).toMatch(
      /^No secure connection came about \(/,
    )
  })
})
