import { Bell } from './bell.js'

/** One open stream of a queue's deliveries: how far it has come, and whether to look again. */
export class OpenStream {
  readonly bell = new Bell()
  /** Deliveries up to here are behind it, whether they were for it or not; undefined until it has looked at all that waits. */
  seen: number | undefined
  /** Whether its queue may not be there any more. */
  #doubted = false

  constructor(readonly receiverId: string) {}

  /** It is to see whether its queue is still there. */
  doubt(): void {
    this.#doubted = true
    this.bell.ring()
  }

  /** Says once that there was doubt. */
  takeDoubt(): boolean {
    const doubted = this.#doubted
    this.#doubted = false
    return doubted
  }
}
