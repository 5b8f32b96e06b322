import { waitFor } from '#common/testing/wait-for.js'
import { pause } from '#sdk/clock.js'
import { eventsOf, type ServerSentEvent } from '#sdk/sse.js'

export interface StreamWatchOptions {
  baseUrl: string
  token: string
  /** With its query. */
  path: string
  /** Goes on after this position at first. */
  after: string
}

/** A durable event as it came. */
export interface Seen {
  /** Its id on the stream. */
  readonly id: string
  readonly node: string
  readonly seq: number
}

/** What comes between events: it has a position, and is none. */
const passing = new Set(['snapshot', 'message.snapshot', 'delta', 'job.output'])

/**
 * One who follows a stream of many nodes over a bare connection, and goes on by Last-Event-ID whenever it breaks. What came
 * twice stands there twice.
 */
export class StreamWatch {
  readonly seen: Seen[] = []
  connections = 0
  readonly failures: string[] = []
  readonly #stopped = new AbortController()
  readonly #done: Promise<void>
  #last: string

  constructor(private readonly options: StreamWatchOptions) {
    this.#last = options.after
    this.#done = this.#follow()
  }

  get resumptions(): number {
    return Math.max(0, this.connections - 1)
  }

  /** @throws Error when not all of them came in time */
  async until(count: number, timeout: number): Promise<void> {
    const what = `${count} events on ${this.options.path}`
    await waitFor(() => this.seen.length >= count, { timeout, what }).catch((cause) => {
      throw new Error(`${what}: ${this.seen.length} came; failures: ${this.failures.slice(-3).join('; ')}`, { cause })
    })
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#done
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      let ended = false
      try {
        ended = await this.#read()
      } catch (error) {
        this.failures.push(String(error))
      }
      await pause(ended ? 500 : 20, signal).catch(() => undefined) // only by the signal, which ends the loop
    }
  }

  /** Answers whether the daemon said that no more comes for now. */
  async #read(): Promise<boolean> {
    const { baseUrl, token, path } = this.options
    const response = await fetch(baseUrl + path, {
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
        ...(this.#last !== '' && { 'last-event-id': this.#last }),
      },
      signal: this.#stopped.signal,
    })
    if (!response.ok || !response.body) throw new Error(`${response.status} ${await response.text()}`)
    this.connections += 1
    let ended = false
    for await (const event of eventsOf(response.body, () => undefined)) {
      if (event.name === 'end') ended = true
      this.#take(event)
    }
    return ended
  }

  #take({ id, name, data }: ServerSentEvent): void {
    if (id === undefined) return
    this.#last = id
    if (data === '' || passing.has(name)) return
    const event = JSON.parse(data) as { subject: string; seq: number }
    this.seen.push({ id, node: event.subject, seq: event.seq })
  }
}
