import type { Clock } from '#common/kernel/clock.js'
import type { Reader } from '#common/kernel/database/tx.js'
import type { Logger } from '#common/kernel/log.js'
import type { ReceiverKind } from '../object/object.record.js'
import type { SendRepository } from './send.repository.js'

/** What is known is asked for anew after this (ms): a receiver may become one of another kind. */
const trusted = 5000
/** Kinds that are kept. */
const most = 50_000

/** Which kind told receivers are of: most are queues, for which no sender need look at all. */
export class ReceiverKinds {
  readonly #known = new Map<string, ReceiverKind>()
  readonly #unknown = new Set<string>()
  #since = 0
  #asking = false

  constructor(
    private readonly reader: Reader,
    private readonly sending: SendRepository,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /** Whether one of these may be of this kind. */
  mayBe(kind: ReceiverKind, ids: readonly string[]): boolean {
    if (this.clock.monotonic() - this.#since > trusted) {
      this.#known.clear()
      this.#since = this.clock.monotonic()
    }
    let found = false
    for (const id of ids) {
      const known = id.startsWith('node_') ? 'node' : this.#known.get(id)
      if (known === undefined) this.#unknown.add(id)
      found ||= known === undefined || known === kind
    }
    if (this.#unknown.size) void this.#learn()
    return found
  }

  async #learn(): Promise<void> {
    if (this.#asking) return
    this.#asking = true
    const ids = [...this.#unknown]
    this.#unknown.clear()
    try {
      const kinds = await this.sending.kinds(this.reader, ids)
      if (this.#known.size > most) this.#known.clear()
      for (const { id, kind } of kinds) this.#known.set(id, kind)
    } catch (err) {
      this.log.debug({ err }, 'kinds of receivers could not be read')
    } finally {
      this.#asking = false
    }
  }
}
