import { systemClock } from '#common/kernel/clock.js'
import type { Acceptance, Client, Published, SvcError } from '#sdk/index.js'
import { reached } from '../moment.js'
import type { Errand, Meant } from './object.plan.js'

/** An event that a client was told is accepted. */
export interface Accepted {
  readonly source: string
  readonly tag: string
  readonly event: string
  readonly seq: number
  readonly id: string
}

/** Publishes the errands of one lane, one after the other, and keeps a log of what it was told. */
export class Publisher {
  readonly accepted: Accepted[] = []
  readonly violations: string[] = []
  refused = 0
  #keys = 0

  /** @param clients by source: one that has nothing but its publish token */
  constructor(
    private readonly name: string,
    private readonly clients: ReadonlyMap<string, Client>,
  ) {}

  /** @param began ms since the epoch */
  async run(errands: readonly Errand[], began: number): Promise<void> {
    for (const errand of errands) {
      await reached(began + errand.at)
      await this.#carryOut(errand)
    }
  }

  async #carryOut(errand: Errand): Promise<void> {
    const key = this.#newKey()
    const asked = [this.#ask(errand, key)]
    if (errand.again !== 'no') asked.push(this.#ask(errand, errand.again === 'key' ? key : this.#newKey()))
    const answers = (await Promise.all(asked)).filter((answer) => answer !== undefined)
    const what = `${errand.source} ${errand.events.map(({ tag }) => tag).join(',')}`
    if (errand.refusal !== undefined) {
      this.refused += 1
      if (answers.length) this.violations.push(`${what} was accepted instead of ${errand.refusal}`)
      return
    }
    const [first, second] = answers
    if (!first) return
    if (second) this.violations.push(...differences(what, errand.again, first, second))
    this.#note(errand, first)
  }

  #note({ source, events }: Errand, answer: readonly Acceptance[]): void {
    if (answer.length !== events.length)
      this.violations.push(`${source}: ${events.length} events, ${answer.length} acceptances`)
    for (const [at, { seq, event_id }] of answer.entries()) {
      const { tag, event } = events[at] as Meant
      const before = this.accepted.findLast((one) => one.source === source)
      if (before && before.seq >= seq) this.violations.push(`${tag} is ${seq} of ${source}, after ${before.seq}`)
      this.accepted.push({ source, tag, event, seq, id: event_id })
    }
  }

  #newKey(): string {
    this.#keys += 1
    return `${this.name}.${this.#keys}`
  }

  /** Answers undefined for the refusal that was to come. */
  async #ask({ source, events, batch, refusal }: Errand, key: string): Promise<readonly Acceptance[] | undefined> {
    const { customObjects } = this.clients.get(source) as Client
    const headers = { 'idempotency-key': key }
    const bodies = events.map(bodyOf)
    const began = systemClock.now()
    try {
      if (batch) return (await customObjects.publishBatch(source, { events: bodies }, { headers })).data
      return [await customObjects.publish(source, bodies[0] as Published, { headers })]
    } catch (error) {
      if (refusal !== undefined && (error as SvcError).code === refusal) return undefined
      const tags = events.map(({ tag }) => tag).join(',')
      this.violations.push(`${source} ${tags} was answered after ${systemClock.now() - began} ms: ${error}`)
      return undefined
    }
  }
}

const bodyOf = ({ tag, event, payload, dedupe }: Meant): Published => ({
  event,
  payload,
  ...(dedupe && { dedupe_key: tag }),
})

/** What two answers to the same say differently. */
const differences = (
  what: string,
  again: Errand['again'],
  first: readonly Acceptance[],
  second: readonly Acceptance[],
): string[] => {
  const both = JSON.stringify([first, second])
  if (again === 'key')
    return JSON.stringify(first) === JSON.stringify(second) ? [] : [`${what}: one key, two answers: ${both}`]
  const same = first.every(({ seq }, at) => second[at]?.seq === seq)
  const once = first.every(({ duplicate }, at) => duplicate !== second[at]?.duplicate)
  return same && once ? [] : [`${what}: published twice under one dedupe_key, and answered ${both}`]
}
