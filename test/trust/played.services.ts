import type { Operation, ServiceName } from '../../libs/common/src/contract/define.js'
import { operations } from '../../libs/common/src/contract/index.js'
import { BusServer } from '../../libs/common/src/kernel/bus/bus.server.js'
import { BusConnection } from '../../libs/common/src/kernel/bus/connection.js'
import { Inbox } from '../../libs/common/src/kernel/bus/inbox.js'
import { systemClock } from '../../libs/common/src/kernel/clock.js'
import type { Context } from '../../libs/common/src/kernel/context.js'
import { SvcError } from '../../libs/common/src/kernel/errors.js'
import { createLogger } from '../../libs/common/src/kernel/log.js'
import { subjects } from '../../libs/common/src/kernel/subjects.js'
import { natsUrlAs } from '../../libs/common/src/testing/nats.js'

export interface PlayedNode {
  readonly generation: number
  readonly ended?: boolean
  readonly scopes: readonly string[]
  readonly appId?: string
}

const log = createLogger('played', 'silent')
const played: readonly ServiceName[] = ['lifecycle', 'models', 'scheduler', 'objects', 'host']

/** What stands behind the edge, at its wire: knows whose tokens are whose, and tells of everything that reached it. */
export class PlayedServices {
  readonly nodes = new Map<string, PlayedNode>()
  /** Ids of requests that were let through. */
  readonly reached = new Set<string>()
  readonly #connections: BusConnection[] = []

  static async start(url: string): Promise<PlayedServices> {
    const services = new PlayedServices()
    for (const service of played) await services.#serve(url, service)
    return services
  }

  async stop(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.drain()))
  }

  async #serve(url: string, service: ServiceName): Promise<void> {
    const connection = await BusConnection.open({
      url: natsUrlAs(url, service),
      name: `played-${service}`,
      clock: systemClock,
      log,
    })
    this.#connections.push(connection)
    const inbox = await Inbox.open(connection, subjects.inbox(service))
    const own = (operations as readonly Operation[]).filter(
      (entry) => entry.service === service && entry.kind !== 'composed',
    )
    const hostId = service === 'host' ? { hostId: 'local' } : {}
    const server = new BusServer({ service, operations: own, connection, inbox, clock: systemClock, log, ...hostId })
    server.handle(own.flatMap((operation) => this.#handlersOf(operation)))
    await server.listen()
  }

  #handlersOf(operation: Operation) {
    const answer = (ctx: Context, input: unknown): unknown => {
      if (operation.name === 'lifecycle.node.principal') return this.#principal((input as { node_id: string }).node_id)
      this.reached.add(ctx.requestId)
      throw new SvcError('not_found', `reached ${operation.name}`)
    }
    const where = operation.name
    const call = {
      operation,
      role: 'call' as const,
      where,
      method: async (...asked: [Context, unknown]) => answer(...asked),
    }
    const stream = {
      operation,
      role: 'stream' as const,
      where,
      // biome-ignore lint/correctness/useYield: it is refused before its first item
      method: async function* (...asked: [Context, unknown]) {
        answer(...asked)
      },
    }
    if (operation.answer === 'negotiated') return [call, stream]
    return operation.answer === 'stream' ? [stream] : [call]
  }

  #principal(id: string) {
    const node = this.nodes.get(id)
    if (!node) throw new SvcError('not_found')
    return {
      node_id: id,
      generation: node.generation,
      ended: node.ended === true,
      scopes: [...node.scopes],
      root_id: id,
      principal: node.appId ? `app:${node.appId}` : 'owner',
      app_id: node.appId ?? null,
      profile: null,
      place: { cwd: '/tmp', host_id: null, git_dir: null },
    }
  }
}
