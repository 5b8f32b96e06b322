import type { HostedBroker } from '#common/contract/internal.operations.js'
import type { BrokerProcess } from './broker-process.js'

/** A node's generation in the hands of this host, until its whole tree is gone or its broker has released it. */
export interface HostedNode {
  readonly nodeId: string
  readonly generation: number
  /** What no call asks for once it is hosted: the scopes that are its mounts, and its shell. */
  readonly scopes: readonly string[]
  readonly process: BrokerProcess
  /** Set once its end has begun: resolves when its tree is gone. */
  ending: Promise<void> | undefined
}

export const hostedBrokerOf = ({ nodeId, generation, scopes, process }: HostedNode): HostedBroker => ({
  node_id: nodeId,
  generation,
  pid: process.pid,
  started_at: process.startedAt,
  scopes: [...scopes],
})

/** Of a launch's scopes those that its sandbox and its tools were made from: nothing asks for them again. */
export const equippedWith = (scopes: readonly string[]): string[] =>
  scopes.filter((scope) => scope === '*' || scope === 'svc:act' || scope.startsWith('svc:files:'))

/** Nodes whose last generation is remembered after they left, against late repetitions of their launch. */
const remembered = 10_000

/** The newest generation of each node that this host has hosted or was told to end. */
export class GenerationFence {
  readonly #newest = new Map<string, { generation: number; pid: number | undefined }>()

  /** `pid` is that of the broker which hosted it, absent when it was ended before any did. */
  raise(nodeId: string, generation: number, pid?: number): void {
    const before = this.#newest.get(nodeId)
    if (before && before.generation > generation) return
    this.#newest.delete(nodeId)
    this.#newest.set(nodeId, { generation, pid: pid ?? (before?.generation === generation ? before.pid : undefined) })
    if (this.#newest.size > remembered) this.#newest.delete(this.#newest.keys().next().value as string)
  }

  newest(nodeId: string): number {
    return this.#newest.get(nodeId)?.generation ?? 0
  }

  /** Pid of the broker that hosted exactly this generation and is gone. */
  hostedBefore(nodeId: string, generation: number): number | undefined {
    const found = this.#newest.get(nodeId)
    return found?.generation === generation ? found.pid : undefined
  }
}
