import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client } from '#sdk/index.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

const patience = { timeout: 60_000 }

interface Call {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Somebody's server, who knows of svc no more than an address and a secret. */
class Chat {
  readonly calls: Call[] = []
  status = 204
  readonly #server: Server = createServer((request, response) => {
    void text(request).then((body) => {
      this.calls.push({ headers: request.headers, body })
      response.writeHead(this.status).end()
    })
  })

  async start(): Promise<this> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    return this
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

let daemon: TestDaemon
let client: Client
let chat: Chat
let secret: string
beforeAll(async () => {
  ;[daemon, chat] = await Promise.all([TestDaemon.start(), new Chat().start()])
  client = daemon.client()
  await client.customObjects.register({ name: 'builds', catalog: [{ event: 'built' }] })
})
afterAll(() => Promise.all([daemon.stop(), chat.stop()]))

const says = async (...args: string[]): Promise<string> => {
  const end = await svc(daemon, args)
  expect({ ...end, args }).toMatchObject({ code: 0 })
  return end.stdout
}
const publish = (n: number) => client.customObjects.publish('builds', { event: 'built', payload: { n } })
const called = (count: number): Promise<Call> =>
  waitFor(() => chat.calls.length >= count && (chat.calls[count - 1] as Call), { ...patience, what: `call ${count}` })
const verified = ({ headers, body }: Call, by = secret): unknown =>
  new Webhook(by).verify(body, headers as Record<string, string>)
const stateOf = async (ref: string) => (await client.customObjects.retrieve(ref)).receiver_state

describe('a receiver at an address', () => {
  it('is sent what it watches, signed as the public library verifies it', async () => {
    const out = await says(
      'custom-object',
      'register',
      'chat',
      '--watch',
      'builds',
      '--url',
      chat.url,
      '--allow-private',
    )
    secret = /^ {2}(whsec_\S+)$/m.exec(out)?.[1] as string
    const { event_id } = await publish(1)

    const call = await called(1)
    expect(verified(call)).toMatchObject({
      type: 'built',
      data: { n: 1 },
      event_id,
      source: { name: 'builds' },
      seq: 1,
    })
    expect(call.headers['webhook-id']).toMatch(/^dlv_/)
    expect(() => verified({ ...call, body: call.body.replace('1', '2') })).toThrow()
    expect(() => verified(call, 'whsec_c29tZWJvZHkgZWxzZSdzIHNlY3JldCBrZXk=')).toThrow()
    await waitFor(async () => (await stateOf('chat'))?.pending === 0, { ...patience, what: 'its acknowledgement' })
  })

  it('is signed for with both secrets while a rotation overlaps, and with the new one alone after it', async () => {
    const former = secret
    const out = await says('custom-object', 'rotate', 'chat', '--signing-secret', '--overlap', '1h')
    secret = /^ {2}(whsec_\S+)$/m.exec(out)?.[1] as string
    await publish(2)
    const during = await called(2)
    expect([verified(during), verified(during, former)]).toMatchObject([{ data: { n: 2 } }, { data: { n: 2 } }])

    secret = (await client.customObjects.rotate('chat', { what: 'signing_secret' })).signing_secret as string
    await publish(3)
    const after = await called(3)
    expect(verified(after)).toMatchObject({ data: { n: 3 } })
    expect(() => verified(after, former)).toThrow()
  })

  it('that fails is sent the same again, with the same id', async () => {
    chat.status = 500
    await publish(4)
    const first = await called(4)
    await waitFor(async () => (await stateOf('chat'))?.failed === 1, { ...patience, what: 'the failure' })
    const listed = await says('custom-object', 'deliveries', 'chat', '--state', 'failed')
    expect(listed).toMatch(/4 +dlv_\w+ +failed +built +builds +1 +in \ds +The receiver answered 500/)
    chat.status = 200

    const second = await called(5)
    expect([second.headers['webhook-id'], second.body]).toEqual([first.headers['webhook-id'], first.body])
    await waitFor(async () => (await stateOf('chat'))?.pending === 0, { ...patience, what: 'its acknowledgement' })
  })

  it('that is gone is sent nothing more, a person is told, and what waits is sent when it is back', async () => {
    chat.status = 410
    await publish(5)
    await waitFor(async () => (await stateOf('chat'))?.reason === 'gone', { ...patience, what: 'the pause' })
    await publish(6)
    await waitFor(async () => (await says('canvas', 'attention')).includes('chat'), { ...patience, what: 'attention' })
    expect(await says('custom-object', 'show', 'chat')).toMatch(/^status +paused by itself.*410/m)
    const count = chat.calls.length
    chat.status = 200

    await says('custom-object', 'resume', 'chat')

    const [one, other] = [await called(count + 1), await called(count + 2)]
    expect([one, other].map((call) => (verified(call) as { data: { n: number } }).data.n).sort()).toEqual([5, 6])
    await waitFor(async () => (await stateOf('chat'))?.pending === 0, { ...patience, what: 'an empty receiver' })
    await waitFor(async () => !(await says('canvas', 'attention')).includes('chat'), {
      ...patience,
      what: 'no attention',
    })
  })
})
