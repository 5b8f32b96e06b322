import type { JournalEntryInput, NodesBrokerJournalResponse } from '#sdk/generated/types.js'
import type { DaemonClient } from './daemon.client.js'
import { hasCode, JournalMoved } from './endings.js'

export type Entry = JournalEntryInput
export type Next = NodesBrokerJournalResponse['next']

/** One append takes at most this many entries, and about this much text. */
const entriesAtOnce = 200
const lengthAtOnce = 3 * 1024 * 1024

/** The node's journal, appended to in order; a repeated append changes nothing, so each is sent until it is answered. */
export class JournalClient {
  #queue: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly daemon: DaemonClient,
    private next: number,
  ) {}

  /** Position that the next entry gets. */
  get position(): number {
    return this.next
  }

  /**
   * Whether the node goes on after these entries.
   *
   * @throws JournalMoved when another process wrote meanwhile; Ended.
   */
  append(...entries: Entry[]): Promise<Next> {
    const turn = this.#queue.then(async () => {
      let next: Next = 'continue'
      for (const batch of batchesOf(entries)) next = await this.#send(batch)
      return next
    })
    this.#queue = turn.catch(() => undefined)
    return turn
  }

  async #send(entries: Entry[]): Promise<Next> {
    try {
      const answer = await this.daemon.post<NodesBrokerJournalResponse>('broker/journal', {
        from: this.next,
        entries: storable(entries),
      })
      this.next = answer.next_ord
      return answer.next
    } catch (error) {
      if (hasCode(error, 'journal_conflict')) throw new JournalMoved()
      if (hasCode(error, 'already_finalized')) return this.#withoutFinal(entries)
      throw error
    }
  }

  /** A final report went out by another way in the meantime: the turn ends without a second one. */
  async #withoutFinal(entries: Entry[]): Promise<Next> {
    const rest = entries.map((entry) => {
      if (entry.type !== 'turn_ended') return entry
      const { final: _, ...ended } = entry
      return ended
    })
    const answer = await this.daemon.post<NodesBrokerJournalResponse>('broker/journal', {
      from: this.next,
      entries: storable(rest),
    })
    this.next = answer.next_ord
    return answer.next
  }
}

/** No database keeps U+0000: where a program or a model wrote it, the record has the replacement character. */
const storable = (entries: Entry[]): Entry[] => {
  const text = JSON.stringify(entries)
  if (!text.includes('\\u0000')) return entries
  return JSON.parse(text.replace(/\\(u0000|.)/g, (found, escaped) => (escaped === 'u0000' ? '\\ufffd' : found)))
}

const batchesOf = (entries: Entry[]): Entry[][] => {
  const batches: Entry[][] = [[]]
  let length = 0
  for (const entry of entries) {
    const size = entries.length === 1 ? 0 : JSON.stringify(entry).length
    const last = batches.at(-1)!
    if (last.length && (last.length >= entriesAtOnce || length + size > lengthAtOnce)) {
      batches.push([entry])
      length = size
    } else {
      last.push(entry)
      length += size
    }
  }
  return batches.filter((batch) => batch.length)
}
