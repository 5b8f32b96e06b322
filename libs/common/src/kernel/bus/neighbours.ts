import type { ServiceName } from '../../contract/define.js'
import { mayPublish } from '../subjects.js'

/** What a subscription is handed, whichever way it came. */
export interface BusMessage {
  readonly subject: string
  readonly data: Uint8Array
  readonly reply?: string | undefined
  /** Of the server's own words, such as that nobody listens. */
  readonly headers?: { readonly code: number } | undefined
}

type Receive = (message: BusMessage) => void

interface Handed {
  readonly receive: Receive
  readonly message: BusMessage
}

/**
 * The services of one process, as their connections to the bus know each other: commands and answers between them are
 * handed over in memory, where the way through the server would cost each of them two system calls and the server its
 * own. All else is as on the bus: the same bytes, later than the call that sent them, in the order of sending, and only
 * what the sender's rights allow; what is forbidden, or has no receiver here, goes to the server as ever.
 */
export class Neighbours {
  readonly #receivers = new Map<string, Receive[]>()
  #handed: Handed[] = []

  /** Takes what is sent to this subject, or below it when it ends in `.*`, until the answer is called. */
  join(subject: string, receive: Receive): () => void {
    const known = this.#receivers.get(subject) ?? []
    this.#receivers.set(subject, [...known, receive])
    return () => {
      // What was handed over before is received before the subscription counts as ended.
      this.#deliver()
      const others = (this.#receivers.get(subject) ?? []).filter((other) => other !== receive)
      if (others.length > 0) this.#receivers.set(subject, others)
      else this.#receivers.delete(subject)
    }
  }

  /** Whether the message was handed to a neighbour. */
  hand(from: ServiceName, message: BusMessage): boolean {
    const { subject } = message
    const receive = this.#receiverOf(subject)
    if (!receive || !mayPublish(from, subject)) return false
    this.#handed.push({ receive, message })
    if (this.#handed.length === 1) setImmediate(() => this.#deliver())
    return true
  }

  /** Replicas take turns. */
  #receiverOf(subject: string): Receive | undefined {
    const receivers =
      this.#receivers.get(subject) ?? this.#receivers.get(`${subject.slice(0, subject.lastIndexOf('.'))}.*`)
    const receive = receivers?.[0]
    if (receive && receivers.length > 1) receivers.push(receivers.shift() as Receive)
    return receive
  }

  #deliver(): void {
    const handed = this.#handed
    this.#handed = []
    for (const { receive, message } of handed) receive(message)
  }
}
