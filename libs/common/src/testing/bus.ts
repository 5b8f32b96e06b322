import { answerOf, type Operation, type ServiceName } from '../contract/define.js'
import { Bus } from '../kernel/bus/bus.js'
import { BusServer } from '../kernel/bus/bus.server.js'
import { BusConnection } from '../kernel/bus/connection.js'
import type { FoundHandler } from '../kernel/bus/endpoints.js'
import type { Pulse } from '../kernel/bus/heartbeat.js'
import { Inbox } from '../kernel/bus/inbox.js'
import { Neighbours } from '../kernel/bus/neighbours.js'
import { systemClock } from '../kernel/clock.js'
import { subjects } from '../kernel/subjects.js'
import { logInto } from './log-into.js'
import { natsUrlAs } from './nats.js'

let near: Neighbours | undefined

/** From now on the peers of this suite are the services of one process. */
export const asNeighbours = (): void => {
  near = new Neighbours()
}

export interface PeerOptions {
  /** What this peer serves: operations and, by their names, the handlers. */
  readonly operations?: readonly Operation[]
  readonly handlers?: Readonly<Record<string, FoundHandler['method']>>
  readonly pulse?: Pulse
  readonly capacity?: number
  readonly hostId?: string
  /** `all`: for operations and listeners that no service has. Else it has the rights of its service. */
  readonly rights?: 'all'
}

/** A service on the bus, with its rights there, without its Nest application: to call, or to play a service that the one under test calls. */
export interface TestPeer {
  readonly bus: Bus
  readonly server: BusServer
  readonly connection: BusConnection
  readonly inbox: Inbox
  /** Records that it logged, parsed. */
  readonly logged: readonly Record<string, unknown>[]
  close(): Promise<void>
}

export const joinBus = async (url: string, service: ServiceName, options: PeerOptions = {}): Promise<TestPeer> => {
  const { operations = [], handlers = {}, pulse, capacity, hostId, rights } = options
  const logged: Record<string, unknown>[] = []
  const log = logInto((line) => logged.push(JSON.parse(line) as Record<string, unknown>))
  const connection = await BusConnection.open({
    url: rights === 'all' ? url : natsUrlAs(url, service),
    name: `test-${service}`,
    clock: systemClock,
    log,
    ...(near && { near: { service, neighbours: near } }),
  })
  const inbox = await Inbox.open(connection, subjects.inbox(service))
  const base = { connection, inbox, clock: systemClock, log, ...(pulse && { pulse }) }
  const server = new BusServer({
    ...base,
    service,
    operations,
    ...(capacity !== undefined && { capacity }),
    ...(hostId !== undefined && { hostId }),
  })
  server.handle(
    operations.map((operation) => ({
      operation,
      role: answerOf(operation) === 'stream' ? 'stream' : 'call',
      where: 'test',
      method: handlers[operation.name] as FoundHandler['method'],
    })),
  )
  await server.listen()
  const close = async (): Promise<void> => {
    await server.drain(0)
    await connection.drain()
  }
  return { bus: new Bus(base), server, connection, inbox, logged, close }
}
