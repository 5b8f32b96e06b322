import { Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import type { OutputOf } from '#common/contract/define.js'
import { contract } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import { LiveTail } from '../stream/live.tail.js'
import { BoundedCache } from './bounded.cache.js'

const entry = contract['lifecycle.node.principal']
export type NodePrincipal = OutputOf<typeof entry>

interface Known {
  readonly answer: Promise<NodePrincipal>
  readonly since: number
}

/** Nodes that one gateway remembers, and for how long at most (ms): the tail tells of changes, but may lose a message. */
const capacity = 10_000
const timeToLive = 5000
/** Events of a node's own life that leave its token as it was; the second comes between its process's first two requests. */
const unchanging: ReadonlySet<string> = new Set(['node.usage', 'node.bound'])

/** What each node's token stands for now, as the writer says; remembered until an event of the node's own life. */
@Injectable()
export class NodePrincipals implements OnModuleInit {
  readonly #known = new BoundedCache<string, Known>(capacity)

  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(LiveTail) private readonly tail: LiveTail,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.tail.listen({
      onEvent: ({ subject, type }) => {
        if (type.startsWith('node.') && !unchanging.has(type)) this.#known.delete(subject)
      },
      onMissed: () => this.#known.clear(),
    })
  }

  /**
   * @param fresh asks the writer even if an answer is remembered.
   * @throws SvcError `not_found`, `service_unavailable`.
   */
  of(nodeId: string, fresh = false): Promise<NodePrincipal> {
    const now = this.clock.monotonic()
    const known = this.#known.get(nodeId)
    if (known && !fresh && now - known.since < timeToLive) return known.answer
    const answer = this.bus.call(entry, systemContext('gateway'), { node_id: nodeId })
    const asked: Known = { answer, since: now }
    this.#known.set(nodeId, asked)
    answer.catch(() => {
      if (this.#known.get(nodeId) === asked) this.#known.delete(nodeId)
    })
    return answer
  }
}
