import type { BrokerSignal } from '#common/contract/broker.schema.js'

type Kind = BrokerSignal['type']

/** What a broker is told first when several things wait for it. */
const order: readonly Kind[] = ['stop', 'interrupt', 'changed', 'mail']

const merged = (known: BrokerSignal | undefined, next: BrokerSignal): BrokerSignal =>
  known?.type === 'mail' && next.type === 'mail'
    ? { type: 'mail', urgent: known.urgent || next.urgent, critical: known.critical || next.critical }
    : next

/** Signals that one reader has not taken yet: at most one of a kind, since each says how things are now. */
export class WaitingSignals {
  private readonly waiting = new Map<Kind, BrokerSignal>()
  private arrived = Promise.withResolvers<void>()
  private ended = false

  put(signal: BrokerSignal): void {
    this.waiting.set(signal.type, merged(this.waiting.get(signal.type), signal))
    this.arrived.resolve()
  }

  /** The reader is gone: its loop ends. */
  end(): void {
    this.ended = true
    this.arrived.resolve()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<BrokerSignal> {
    while (!this.ended) {
      const kind = order.find((each) => this.waiting.has(each))
      const signal = kind && this.waiting.get(kind)
      if (kind && signal) {
        this.waiting.delete(kind)
        yield signal
      } else {
        await this.arrived.promise
        this.arrived = Promise.withResolvers<void>()
      }
    }
  }
}
