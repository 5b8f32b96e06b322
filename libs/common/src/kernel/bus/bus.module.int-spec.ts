import { afterEach, describe, expect, it, jest } from '@jest/globals'
import {
  type INestApplicationContext,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type Type,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { pino } from 'pino'
import type { Operation } from '../../contract/define.js'
import { joinBus, type TestPeer } from '../../testing/bus.js'
import { testNats } from '../../testing/nats.js'
import { waitFor } from '../../testing/wait-for.js'
import type { Context } from '../context.js'
import { asked, failure, gate, probe } from './bus.fixture.js'
import { Bus } from './bus.js'
import { BusModule, type BusModuleOptions } from './bus.module.js'
import { BusServer } from './bus.server.js'
import { BusConnection } from './connection.js'
import { Handles, Streams } from './handles.decorator.js'

const begun = gate()
const finish = gate<string>()

@Injectable()
class ProbeRpc {
  private readonly greeting = 'hello'

  @Handles(probe.echo)
  async echo(_ctx: Context, { text, times }: { text: string; times: number }): Promise<unknown> {
    return `${this.greeting} ${text.repeat(times)}`
  }

  @Handles(probe.wait)
  async wait(): Promise<unknown> {
    begun.open()
    return finish.promise
  }

  @Streams(probe.flow)
  async *flow(_ctx: Context, { count }: { count: number }): AsyncGenerator<unknown> {
    for (let n = 0; n < count; n += 1) yield n
  }
}

@Injectable()
class Echo {
  @Handles(probe.echo)
  async echo(): Promise<unknown> {
    return 'second'
  }
}

const served: readonly Operation[] = [probe.echo, probe.wait, probe.flow]
let app: INestApplicationContext | undefined
let gateway: TestPeer | undefined

const boot = async (providers: Type[], more: Partial<BusModuleOptions> = {}) => {
  const log = pino({ level: 'silent' })
  const bus = BusModule.forRoot({ service: 'lifecycle', url: testNats().url, operations: served, log, ...more })
  @Module({ imports: [bus], providers })
  class Service {}
  app = await NestFactory.createApplicationContext(Service, { logger: false, abortOnError: false })
  return app
}

const ask = async (): Promise<TestPeer> => {
  gateway = await joinBus(testNats().url, 'gateway')
  return gateway
}

afterEach(async () => {
  await gateway?.close()
  await app?.close()
  gateway = undefined
  app = undefined
})

describe('BusModule', () => {
  it('serves the decorated methods of providers', async () => {
    await boot([ProbeRpc])
    const { bus } = await ask()
    expect(await bus.call(probe.echo, asked(), { text: 'ab', times: 2 })).toBe('hello abab')
    const items: unknown[] = []
    for await (const item of bus.stream(probe.flow, asked(), { count: 3 })) items.push(item)
    expect(items).toEqual([0, 1, 2])
  })

  it('refuses to boot without a handler for an operation of the service', async () => {
    expect((await failure(boot([]))).message).toContain('probe.echo has no handler')
  })

  it('refuses to boot with two handlers for one', async () => {
    expect((await failure(boot([ProbeRpc, Echo]))).message).toContain('two handlers: ProbeRpc.echo, Echo.echo')
  })

  it("refuses to boot with a handler for another service's operation", async () => {
    const booting = boot([ProbeRpc], { service: 'models' })
    expect((await failure(booting)).message).toContain("is not models's to serve")
  })

  it('takes no commands before it is told to, where the service says so', async () => {
    const service = await boot([ProbeRpc], { listen: 'explicit' })
    const { bus } = await ask()
    expect((await failure(bus.call(probe.echo, asked(), { text: 'a' }))).code).toBe('service_unavailable')
    await service.get(BusServer).listen()
    expect(await bus.call(probe.echo, asked(), { text: 'a' })).toBe('hello a')
  })

  it('can be told to listen as early as in the bootstrap of another provider', async () => {
    @Injectable()
    class Leader implements OnApplicationBootstrap {
      constructor(@Inject(BusServer) private readonly server: BusServer) {}
      onApplicationBootstrap(): Promise<void> {
        return this.server.listen()
      }
    }
    await boot([Leader, ProbeRpc], { listen: 'explicit' })
    const { bus } = await ask()
    expect(await bus.call(probe.echo, asked(), { text: 'a' })).toBe('hello a')
  })

  it('serves nothing where it only asks', async () => {
    const service = await boot([], { listen: 'never' })
    expect(service.get(Bus).connected).toBe(true)
    expect(service.get(BusServer).listening).toBe(false)
  })

  it('finishes the commands in hand when it shuts down, and leaves the bus', async () => {
    const service = await boot([ProbeRpc])
    const { bus } = await ask()
    const inHand = bus.call(probe.wait, asked(), {})
    await begun.promise
    const connection = service.get(BusConnection)
    const drain = jest.spyOn(service.get(BusServer), 'drain')
    const closing = service.close()
    app = undefined
    await waitFor(() => drain.mock.calls.length > 0)
    // More round trips than closing takes.
    for (let trip = 0; trip < 100; trip += 1) await bus.settled()
    expect(connection.connected).toBe(true)
    finish.open('finished')
    expect(await inHand).toBe('finished')
    await closing
    expect(connection.connected).toBe(false)
    expect((await failure(bus.call(probe.echo, asked(), { text: 'a' }))).code).toBe('service_unavailable')
  })
})
