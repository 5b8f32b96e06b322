import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, type NatsConnection, PermissionViolationError } from '@nats-io/transport-node'
import type { ServiceName } from '../../contract/define.js'
import { joinBus } from '../../testing/bus.js'
import { natsUrlAs, natsUrlOf, testNats } from '../../testing/nats.js'
import { waitFor } from '../../testing/wait-for.js'
import { busServices, permissionsOf, subjects } from '../subjects.js'

// Done when: "gateway, scheduler, objects, models and a broker can each be shown unable … to speak on the bus beyond their
// subjects". The suite is made of the list of services, so that one that comes later is held to it by its entry.

const open = (address: string): Promise<NatsConnection> => {
  const { host, username: user, password: pass } = new URL(address)
  return connect({ servers: host, user, pass, reconnect: false })
}

/** One of each kind of subject that there is, for every service, and those of the server and of other programs. */
const spoken = [
  ...busServices.flatMap((service) => [
    service === 'host' ? 'svc.cmd.host.h1.broker.launch' : `svc.cmd.${service}.anything`,
    service === 'host' ? 'svc.cmd.host.h1.files.read' : `svc.cmd.${service}.host.hello`,
    ...busServices.map((from) =>
      service === 'host' ? subjects.cancel('host', from, 'h1') : subjects.cancel(service, from),
    ),
    `${subjects.inbox(service)}.token.1`,
  ]),
  subjects.nodeEvent('node_1', 'turn.started'),
  subjects.nodeLive('node_1'),
  'svc.evt.gateway.trust',
  'svc.evt.anything',
  '_INBOX.abc.1',
  '$SYS.REQ.SERVER.PING',
  '$SYS.ACCOUNT.x.CONNECT',
  '$JS.API.STREAM.CREATE.s',
  'anything',
]
/** All of a kind, as a listener would ask for them. */
const overheard = [
  ...spoken,
  ...busServices.flatMap((service) => [
    `svc.cmd.${service}.>`,
    `svc.cancel.${service}.>`,
    `${subjects.inbox(service)}.>`,
  ]),
  ...['>', '*', 'svc.>', 'svc.*.>', 'svc.cmd.>', 'svc.inbox.>', 'svc.evt.>', 'svc.live.>', '_INBOX.>', '$SYS.>'],
]

/** By hand: what no service may say or hear, whatever is listed for it. */
const neverSaid = ['_INBOX.abc.1', '$SYS.REQ.SERVER.PING', '$JS.API.STREAM.CREATE.s', 'svc.evt.anything', 'anything']
const neverHeard = ['>', '*', 'svc.>', 'svc.*.>', 'svc.cmd.>', 'svc.inbox.>', 'svc.evt.>', '_INBOX.>', '$SYS.>']

const covers = (pattern: string, subject: string): boolean => {
  const [wanted, given] = [pattern.split('.'), subject.split('.')]
  for (const [at, part] of wanted.entries()) {
    if (part === '>') return given.length > at
    if (given[at] === undefined || given[at] === '>' || (part !== '*' && part !== given[at])) return false
  }
  return wanted.length === given.length
}

describe.each(busServices)('the user of %s on the bus', (service: ServiceName) => {
  let bus: NatsConnection
  let following: Promise<void>
  /** Subjects that the server refused, in order. */
  const refused: string[] = []
  const { publish, subscribe } = permissionsOf(service)
  const permits = (patterns: readonly string[], subject: string): boolean =>
    patterns.some((pattern) => covers(pattern, subject))

  beforeAll(async () => {
    bus = await open(natsUrlAs(testNats().url, service))
    following = (async () => {
      for await (const status of bus.status()) {
        if (status.type !== 'error' || !(status.error instanceof PermissionViolationError)) continue
        const { operation, subject } = status.error
        if (operation === 'publish') refused.push(subject)
      }
    })()
  })
  afterEach(() => {
    refused.length = 0
  })
  afterAll(async () => {
    await bus.close()
    await following
  })

  const listen = (subjects: readonly string[], queue?: string): void => {
    for (const subject of subjects) {
      bus.subscribe(subject, { ...(queue && { queue }), callback: (error) => void (error && refused.push(subject)) })
    }
  }
  /** The server answers in the order in which it was asked. */
  const allRefused = (last: string): Promise<unknown> =>
    waitFor(() => refused.at(-1) === last, { what: 'the refusals' })

  it('may publish what is listed for it, and nothing else', async () => {
    for (const subject of [...spoken, 'the.last']) bus.publish(subject, '{}')
    await allRefused('the.last')
    expect(refused).toEqual([...spoken.filter((subject) => !permits(publish, subject)), 'the.last'])
    expect(refused).toEqual(expect.arrayContaining(neverSaid))
  })

  it('may listen where it is listed, and nowhere else', async () => {
    listen([...overheard, 'the.last'])
    await allRefused('the.last')
    expect(refused).toEqual([...overheard.filter((subject) => !permits(subscribe, subject)), 'the.last'])
    expect(refused).toEqual(expect.arrayContaining(neverHeard))
  })

  it('can’t take work of another by joining its queue', async () => {
    const others = busServices.filter((name) => name !== service).map((name) => `svc.cmd.${name}.>`)
    listen(others, 'work')
    await allRefused(others.at(-1) as string)
    expect(refused).toEqual(others)
  })
})

describe('the bus', () => {
  it('gives each call an address of its own that nobody can guess, so that who was asked alone can answer', async () => {
    const peer = await joinBus(testNats().url, 'gateway')
    const waiter = { subject: '', onMessage: () => undefined, onFailure: () => undefined }
    const keys = [1, 2, 3].map(() => peer.inbox.open(waiter).split('.').at(-1) as string)
    expect(new Set(keys.map((key) => key.slice(0, 8))).size).toBe(3)
    for (const key of keys) expect(key).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    await peer.close()
  })

  it('lets nobody in without a user, or with a service’s name and a guess', async () => {
    const { host } = new URL(testNats().url)
    for (const user of ['', ...busServices]) {
      await expect(open(`nats://${user}:guess@${host}`)).rejects.toThrow()
    }
    await expect(open(natsUrlOf(`nats://${host}`, -1))).rejects.toThrow()
  })
})
