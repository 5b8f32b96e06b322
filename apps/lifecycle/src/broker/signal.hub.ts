import type { BrokerSignal } from '#common/contract/broker.schema.js'

type Listener = (signal: BrokerSignal) => void

/**
 * Tells the brokers that are connected what the daemon wants of them. It carries hints: the truth is in the rows, and a
 * broker that connects is first told the state that they show.
 */
export class SignalHub {
  private readonly listeners = new Map<string, Set<Listener>>()

  send(nodeId: string, signal: BrokerSignal): void {
    for (const listener of this.listeners.get(nodeId) ?? []) listener(signal)
  }

  /** Calls `listener` for each signal of the node; answers the function that ends it. */
  on(nodeId: string, listener: Listener): () => void {
    const known = this.listeners.get(nodeId) ?? new Set()
    known.add(listener)
    this.listeners.set(nodeId, known)
    return () => {
      known.delete(listener)
      if (known.size === 0 && this.listeners.get(nodeId) === known) this.listeners.delete(nodeId)
    }
  }
}
