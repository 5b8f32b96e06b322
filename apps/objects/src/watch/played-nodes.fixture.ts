import { contract } from '#common/contract/index.js'
import type { Node } from '#common/contract/node.schema.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'

const retrieve = contract['nodes.retrieve']

type Played = Pick<Node, 'id' | 'root_id' | 'parent_id' | 'status' | 'app_id'>

/** Lifecycle as far as it says which node is whose, played at the wire. */
export class PlayedNodes {
  readonly #nodes = new Map<string, Played>()
  /** What happens once it has been said how a node is. */
  afterwards: () => void = () => undefined
  #peer: TestPeer | undefined

  static async start(nats: string): Promise<PlayedNodes> {
    const played = new PlayedNodes()
    played.#peer = await joinBus(nats, 'lifecycle', {
      operations: [retrieve],
      handlers: {
        [retrieve.name]: (ctx: Context, input: unknown) => {
          const node = played.#seen(ctx, (input as { id: string }).id)
          played.afterwards()
          return node
        },
      } as never,
    })
    return played
  }

  stop(): Promise<void> | undefined {
    return this.#peer?.close()
  }

  node(more: Partial<Played> = {}): string {
    const id = newId('node')
    const parent = more.parent_id && this.#nodes.get(more.parent_id)
    const root_id = parent ? parent.root_id : id
    this.#nodes.set(id, { id, root_id, parent_id: null, status: 'active', app_id: null, ...more })
    return id
  }

  /** A node reaches those below it, an app its own, and both what their scopes open of another app. */
  #seen({ actor }: Context, id: string): Played {
    const node = this.#nodes.get(id)
    const all = actor.kind === 'owner' || actor.kind === 'system'
    const own = actor.kind === 'node' ? this.#isWithin(id, actor.nodeId) : node?.app_id === actor.appId
    if (node && (all || own || actor.scopes.includes(`svc:objects:read:app:${node.app_id}`))) return node
    throw new SvcError('not_found', 'said by lifecycle')
  }

  #isWithin(id: string | null | undefined, above: string | undefined): boolean {
    if (!id) return false
    return id === above || this.#isWithin(this.#nodes.get(id)?.parent_id, above)
  }
}
