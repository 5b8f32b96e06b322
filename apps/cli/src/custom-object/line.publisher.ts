import type { Acceptance, Client, Published } from '#sdk/index.js'
import { UsageError } from '../failure.js'
import type { Output } from '../output/output.js'

/** Events of one request. */
const most = 500

/** Lines of standard input as they come, those that came together in one list. */
async function* arrivals(): AsyncGenerator<string[]> {
  process.stdin.setEncoding('utf8')
  let rest = ''
  for await (const piece of process.stdin) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    if (lines.length) yield lines
  }
  if (rest) yield [rest]
}

/** Publishes lines of standard input in their order, many in one request where they come fast. */
export class LinePublisher {
  #read = 0
  #published = 0
  #duplicates = 0

  /** @param event of which each line is a payload; without it each line is a whole event */
  constructor(
    private readonly client: Client,
    private readonly ref: string,
    private readonly event: string | undefined,
    private readonly accepted: (one: Acceptance) => void,
    private readonly out: Output,
  ) {}

  /** How many were accepted, and of these how many had been before. */
  get counts(): { published: number; duplicates: number } {
    return { published: this.#published, duplicates: this.#duplicates }
  }

  /** @throws UsageError for a line that is no event; those before it are published */
  async publish(): Promise<void> {
    for await (const lines of arrivals()) {
      let batch: Published[] = []
      for (const line of lines) {
        this.#read += 1
        if (line.trim() === '') continue
        try {
          batch.push(this.#eventIn(line))
        } catch (error) {
          await this.#send(batch)
          if (this.#published) this.out.note(`the ${this.#published} events before line ${this.#read} are published`)
          throw error
        }
        if (batch.length < most) continue
        await this.#send(batch)
        batch = []
      }
      await this.#send(batch)
    }
  }

  #eventIn(line: string): Published {
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch (error) {
      throw new UsageError(`line ${this.#read} is not JSON: ${(error as Error).message}`)
    }
    if (this.event !== undefined) return { event: this.event, payload: value }
    if (typeof value === 'object' && value !== null && 'event' in value) return value as Published
    throw new UsageError(
      `line ${this.#read} names no event`,
      'a line is {"event": …, "payload": …}; or name the event of all lines before --lines, then a line is its payload',
    )
  }

  async #send(events: Published[]): Promise<void> {
    if (!events.length) return
    try {
      const { data } = await this.client.customObjects.publishBatch(this.ref, { events })
      for (const one of data) {
        this.#published += 1
        if (one.duplicate) this.#duplicates += 1
        this.accepted(one)
      }
    } catch (error) {
      this.out.note(
        `none of the ${events.length} events up to line ${this.#read} is published, the ${this.#published} before them are`,
      )
      throw error
    }
  }
}
