import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { asNeighbours, joinBus, type TestPeer } from '../../testing/bus.js'
import { NatsProcess } from '../../testing/nats-process.js'
import { waitFor } from '../../testing/wait-for.js'
import { permissionsOf } from '../subjects.js'
import { asked, failure, probe } from './bus.fixture.js'

const account = (service: 'gateway' | 'models' | 'lifecycle') => {
  const { publish, subscribe } = permissionsOf(service)
  return { user: service, password: 'p', permissions: { publish, subscribe } }
}

let server: NatsProcess
let listener: NatsConnection
let stopListening: () => void
let gateway: TestPeer
let models: TestPeer
let lifecycle: TestPeer
const overheard: string[] = []
let served = 0

beforeAll(async () => {
  const users = [account('gateway'), account('models'), account('lifecycle'), { user: 'all', password: 'p' }]
  server = await NatsProcess.start(JSON.stringify({ authorization: { users } }))
  const urlOf = (user: string): string => server.url.replace('nats://', `nats://${user}:p@`)
  const { host } = new URL(server.url)
  listener = await connect({ servers: host, user: 'all', pass: 'p' })
  const listening = listener.subscribe('svc.>', { callback: (_error, { subject }) => void overheard.push(subject) })
  stopListening = () => listening.unsubscribe()
  await listener.flush()
  asNeighbours()
  gateway = await joinBus(urlOf('gateway'), 'gateway')
  models = await joinBus(urlOf('models'), 'models')
  lifecycle = await joinBus(urlOf('lifecycle'), 'lifecycle', {
    operations: [probe.echo],
    handlers: {
      'probe.echo': async (_ctx, input) => {
        served += 1
        return input
      },
    },
  })
})

afterAll(async () => {
  await Promise.all([gateway, models, lifecycle].map((peer) => peer?.close()))
  await listener?.close()
  await server?.stop()
})

describe('services of one process', () => {
  it('call each other without the way through the server', async () => {
    expect(await gateway.bus.call(probe.echo, asked(), { text: 'near' })).toEqual({ text: 'near', times: 1 })
    gateway.bus.publish('svc.cmd.lifecycle.overheard', {})
    await waitFor(() => overheard.includes('svc.cmd.lifecycle.overheard'))
    expect(overheard).toEqual(['svc.cmd.lifecycle.overheard'])
    stopListening()
    await listener.flush()
  })

  it('have no more rights than on the bus', async () => {
    const before = served
    expect(await failure(models.bus.call(probe.echo, asked(), { text: 'x' }))).toMatchObject({ code: 'internal' })
    expect(served).toBe(before)
  })

  it('hear at once that one of them takes no more commands, and find it again', async () => {
    await lifecycle.server.pause()
    const refused = await failure(gateway.bus.call(probe.echo, asked(), { text: 'x' }))
    expect(refused).toMatchObject({ code: 'service_unavailable' })
    await lifecycle.server.listen()
    expect(await gateway.bus.call(probe.echo, asked(), { text: 'again' })).toMatchObject({ text: 'again' })
  })

  it('reach nobody while the bus is gone, since replicas and hosts would not be reached either', async () => {
    await server.stop()
    await waitFor(() => !gateway.bus.connected)
    const refused = await failure(gateway.bus.call(probe.echo, asked(), { text: 'x' }))
    expect(refused).toMatchObject({ code: 'service_unavailable' })
  })
})
