import type { NodeSituation } from '../../apps/lifecycle/src/node/node.effects.js'
import type { JournalEntry, NodeCreate } from '../../libs/common/src/contract/index.js'
import type { Edge } from './edge.js'
import { type PlayedBroker, started } from './lifecycle-service.js'

export interface Staged {
  readonly id: string
  /** Of its newest process; it speaks for the node. */
  readonly token: string
}

const ended = (turn: number): JournalEntry => ({ type: 'turn_ended', turn, status: 'completed' })
const failed = (turn: number, fault: object): JournalEntry =>
  ({ type: 'turn_ended', turn, status: 'failed', fault }) as JournalEntry

/** Brings nodes into each situation by what brings them there in life. Each has ended a first turn. */
export class NodeStage {
  constructor(private readonly edge: Edge) {}

  async bring(situation: NodeSituation, more: Partial<NodeCreate> = {}): Promise<Staged> {
    const { body } = await this.edge.ask({
      operation: 'nodes.create',
      body: { prompt: 'do it', ...(!more.parent_id && { cwd: '/tmp' }), lifecycle: 'resident', ...more },
    })
    const id: string = body.id
    const { broker, assignment } = await this.edge.lifecycle.bound(id)
    await broker.append(started(1, assignment.mail))
    if (situation === 'waiting') await broker.call('nodes.wait', { reason: 'the tide' })
    await broker.append(ended(1))
    if (situation !== 'idle' && situation !== 'waiting') await this.#further(id, situation)
    const { generation } = await this.edge.lifecycle.retrieve(id)
    return { id, token: this.edge.gateway.nodeToken(id, generation) }
  }

  async #further(id: string, situation: NodeSituation): Promise<void> {
    if (situation === 'refresh_owed') return this.#owner('nodes.yield', id, { note: 'later' })
    if (situation === 'canceled') return this.#owner('nodes.cancel', id)
    await this.#owner('nodes.message', id, { body: 'go on' })
    const broker = await this.edge.lifecycle.broker(id, 2)
    if (situation === 'launching') return
    const { mail } = await broker.bind()
    if (situation === 'bound') return
    await broker.append(started(2, mail))
    await this.#inTurn(id, broker, situation)
  }

  async #inTurn(id: string, broker: PlayedBroker, situation: NodeSituation): Promise<void> {
    if (situation === 'refreshing') await this.#owner('nodes.yield', id, { note: 'soon' })
    if (situation === 'done') await broker.push('final', 'it is done')
    if (situation === 'dead') await broker.append(failed(2, { kind: 'other', message: 'the roof fell in' }))
    if (situation === 'held') {
      await broker.append(failed(2, { kind: 'rate_limit', message: 'later', retry_after_ms: 3_600_000 }))
    }
  }

  async #owner(operation: 'nodes.yield' | 'nodes.cancel' | 'nodes.message', id: string, body?: object): Promise<void> {
    const { status, body: answer } = await this.edge.ask({ operation, at: { id }, ...(body && { body }) })
    if (status !== 200) throw new Error(`${operation} answered ${status} ${answer.code}`)
  }
}
