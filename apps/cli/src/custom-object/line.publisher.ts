import { randomUUID } from 'node:crypto'
import { type Acceptance, type Client, type Published, ResponseError, SvcError } from '#sdk/index.js'
import { pause } from '../clock.js'
import { UsageError } from '../failure.js'
import { parsedJson } from '../input.js'
import type { Output } from '../output/output.js'
import { Patience } from './patience.js'

/** Events of one request. */
const most = 500

/** Lines of standard input as they come, those that came together in one list. Each character is one of its bytes. */
async function* arrivals(): AsyncGenerator<string[]> {
  process.stdin.setEncoding('latin1')
  let rest = ''
  for await (const piece of process.stdin) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    if (lines.length) yield lines
  }
  if (rest) yield [rest]
}

/** Events of one request, and the lines that they stand in. */
interface Batch {
  readonly events: Published[]
  first: number
  last: number
}

const emptyBatch = (): Batch => ({ events: [], first: 0, last: 0 })

const unseen: ReadonlySet<string> = new Set([
  ...['connection', 'timeout', 'response', 'internal', 'upstream', 'unavailable', 'deadline'],
  ...['outcome_unknown', 'idempotency_in_progress'],
])

/** Whether a try may have been taken although it failed. One that no connection was made for was not. */
const mayHaveBeenTaken = (error: unknown): boolean =>
  error instanceof SvcError &&
  (unseen.has(error.kind) || unseen.has(error.code)) &&
  !/ECONNREFUSED|ENOTFOUND|ENOENT/.test(error.message)

/** Publishes lines of standard input in their order, many in one request where they come fast. */
export class LinePublisher {
  #read = 0
  #published = 0
  #duplicates = 0
  readonly #patience: Patience

  /** @param event of which each line is a payload; without it each line is a whole event */
  constructor(
    private readonly client: Client,
    private readonly ref: string,
    private readonly event: string | undefined,
    private readonly accepted: (one: Acceptance) => void,
    private readonly out: Output,
  ) {
    this.#patience = new Patience((text) => out.note(text), pause)
  }

  /** How many were accepted, and of these how many had been before. */
  get counts(): { published: number; duplicates: number } {
    return { published: this.#published, duplicates: this.#duplicates }
  }

  /** @throws UsageError for a line that is no event; those before it are published */
  async publish(): Promise<void> {
    for await (const lines of arrivals()) {
      let batch = emptyBatch()
      for (const line of lines) {
        this.#read += 1
        if (/^[ \t\v\f\r]*$/.test(line)) continue
        try {
          batch.events.push(this.#eventIn(Buffer.from(line, 'latin1')))
          batch.first ||= this.#read
          batch.last = this.#read
        } catch (error) {
          await this.#send(batch)
          if (this.#published) this.out.note(`the ${this.#published} events before line ${this.#read} are published`)
          throw error
        }
        if (batch.events.length < most) continue
        await this.#send(batch)
        batch = emptyBatch()
      }
      await this.#send(batch)
    }
  }

  #eventIn(line: Buffer): Published {
    const value = parsedJson(line, `line ${this.#read}`)
    if (this.event !== undefined) return { event: this.event, payload: value }
    if (typeof value === 'object' && value !== null && 'event' in value) return value as Published
    throw new UsageError(
      `line ${this.#read} names no event`,
      'a line is {"event": …, "payload": …}; or name the event of all lines before --lines, then a line is its payload',
    )
  }

  /** Each try has the same key, so that a daemon that took it unseen answers what it did then. */
  async #send(batch: Batch): Promise<void> {
    const { events } = batch
    if (!events.length) return
    const headers = { 'idempotency-key': randomUUID() }
    let taken = false
    try {
      const data = await this.#patience.send(
        () => this.#request(events, headers),
        (error) => {
          taken ||= mayHaveBeenTaken(error)
        },
      )
      for (const one of data) {
        this.#published += 1
        if (one.duplicate) this.#duplicates += 1
        this.accepted(one)
      }
    } catch (error) {
      for (const line of taken ? this.#unknown(batch) : this.#refused(batch)) this.out.note(line)
      throw error
    }
  }

  async #request(events: Published[], headers: Record<string, string>): Promise<readonly Acceptance[]> {
    const answer = await this.client.customObjects.publishBatch(this.ref, { events }, { headers, maxRetries: 0 })
    if (Array.isArray(answer?.data)) return answer.data
    throw new ResponseError('the answer does not say what is accepted', 202)
  }

  #refused(batch: Batch): string[] {
    const { events } = batch
    const what = events.length === 1 ? `the event in ${linesOf(batch)} is not` : `none of ${countOf(batch)} is`
    return [`${what} published${this.#before(batch)}`]
  }

  #unknown(batch: Batch): string[] {
    const { events } = batch
    const isOrAre = events.length === 1 ? 'is' : 'are'
    return [
      `nobody knows whether ${countOf(batch)} ${isOrAre} published${this.#before(batch)}`,
      `  svc custom-object events ${this.ref} lists what is published, with your own token`,
      events.every(({ dedupe_key }) => dedupe_key !== undefined)
        ? '  sent again none is published twice: each has its dedupe_key'
        : '  sent again they may be published twice; lines of {"event": …, "payload": …, "dedupe_key": …} never are',
    ]
  }

  #before({ events }: Batch): string {
    if (this.#published === 0) return ''
    return `; the ${this.#published} before ${events.length === 1 ? 'it' : 'them'} ${this.#published === 1 ? 'is' : 'are'}`
  }
}

const linesOf = ({ first, last }: Batch): string => (first === last ? `line ${first}` : `lines ${first}–${last}`)

const countOf = (batch: Batch): string => {
  const { length } = batch.events
  return `the ${length === 1 ? 'event' : `${length} events`} in ${linesOf(batch)}`
}
