import { randomUUID } from 'node:crypto'
import type { Bus } from '#common/kernel/bus/bus.js'
import { subjects } from '#common/kernel/subjects.js'
import type { Running } from '../objects.lifetime.js'

type Listener = () => void
type AnyListener = (receiverIds: readonly string[]) => void

interface Told {
  readonly from: string
  readonly receivers: readonly string[]
}

/** Ids of one message: far below what a message may carry. */
const mostIds = 5000

/**
 * Tells those who wait that receivers have something new, in this process at once and in the other replicas by the bus.
 * Messages may be lost: whoever listens looks at the rows from time to time all the same.
 */
export class Wake implements Running {
  readonly #self = randomUUID()
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #any = new Set<AnyListener>()
  #leave: () => void = () => undefined

  constructor(private readonly bus: Bus) {}

  start(): void {
    this.#leave = this.bus.subscribe<Told>(subjects.deliveries(), ({ payload: { from, receivers } }) => {
      if (from !== this.#self) this.#ring(receivers)
    })
  }

  async stop(): Promise<void> {
    this.#leave()
  }

  /** To be called after the commit of what is told. */
  tell(receiverIds: readonly string[]): void {
    if (receiverIds.length === 0) return
    this.#ring(receiverIds)
    for (let at = 0; at < receiverIds.length; at += mostIds)
      this.bus.publish(subjects.deliveries(), { from: this.#self, receivers: receiverIds.slice(at, at + mostIds) })
  }

  /** Calls back, without waiting for an answer, when this receiver has something new; answers how to stop. */
  listen(receiverId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(receiverId) ?? new Set()
    this.#listeners.set(receiverId, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(receiverId) === listeners) this.#listeners.delete(receiverId)
    }
  }

  /** As `listen`, with all receivers that have something new. */
  onAny(listener: AnyListener): () => void {
    this.#any.add(listener)
    return () => this.#any.delete(listener)
  }

  #ring(receiverIds: readonly string[]): void {
    for (const id of receiverIds) for (const listener of this.#listeners.get(id) ?? []) listener()
    for (const listener of this.#any) listener(receiverIds)
  }
}
