import { waitFor } from '#common/testing/wait-for.js'
import { pause } from '#sdk/clock.js'
import { eventsOf, type ServerSentEvent } from '#sdk/sse.js'

export interface WatchOptions {
  baseUrl: string
  token: string
  node: string
}

/**
 * One who reads a node's events over a bare connection and goes on by Last-Event-ID whenever it breaks. It keeps every
 * event as it came over the wire: what it got twice stands there twice.
 */
export class EventWatch {
  readonly events: ServerSentEvent[] = []
  /** Connections that were answered with a stream. */
  connections = 0
  /** What kept it from reading, newest last. */
  readonly failures: string[] = []
  /** Why the daemon ended the stream, each time that it did. */
  readonly ends: string[] = []
  /** The last event before the daemon first said that no more would come. */
  settledAt: number | undefined
  readonly #stopped = new AbortController()
  #connection = new AbortController()
  /** Whether the daemon ended the last connection itself. */
  #ended = false
  readonly #done: Promise<void>

  constructor(private readonly options: WatchOptions) {
    this.#done = this.#follow()
  }

  /** Connections that broke, or were ended before the node was. */
  get resumptions(): number {
    return Math.max(0, this.connections - 1 - this.ends.filter((reason) => reason === 'settled').length)
  }

  /** Sequence numbers in the order of their arrival. */
  get seqs(): number[] {
    return this.events.map(({ id }) => Number(id))
  }

  get last(): number {
    return this.seqs.at(-1) ?? 0
  }

  /** Breaks the connection, as a lost network does. */
  cut(): void {
    this.#connection.abort(new Error('cut'))
  }

  async until(seq: number, timeout: number): Promise<void> {
    await waitFor(() => this.last >= seq, { timeout, what: `event ${seq} of ${this.options.node}` }).catch((cause) => {
      throw new Error(`last: ${this.last}; failures: ${this.failures.slice(-5).join('; ')}`, { cause })
    })
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    this.cut()
    await this.#done
  }

  async #follow(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      this.#connection = new AbortController()
      try {
        await this.#read()
      } catch (error) {
        this.failures.push(String(error))
      }
      const rests = this.ends.at(-1) === 'settled' && this.#ended
      await pause(rests ? 500 : 20, this.#stopped.signal).catch(() => undefined)
    }
  }

  async #read(): Promise<void> {
    const { baseUrl, token, node } = this.options
    const last = this.events.at(-1)?.id
    const response = await fetch(`${baseUrl}/v1/nodes/${node}/events`, {
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
        ...(last !== undefined && { 'last-event-id': last }),
      },
      signal: AbortSignal.any([this.#connection.signal, this.#stopped.signal]),
    })
    if (!response.ok || !response.body) throw new Error(`${response.status} ${await response.text()}`)
    this.connections += 1
    this.#ended = false
    for await (const event of eventsOf(response.body, () => undefined)) {
      if (event.id !== undefined) this.events.push(event)
      else if (event.name === 'end') {
        this.ends.push((JSON.parse(event.data) as { reason: string }).reason)
        this.#ended = true
        if (this.ends.at(-1) === 'settled') this.settledAt ??= this.last
      }
    }
  }
}
