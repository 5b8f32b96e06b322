import { monotonic, pause } from '../clock.js'
import { ResultError, TimeoutError } from '../errors.js'
import { NodesRoutes } from '../generated/resources.js'
import type { Node, NodeCreate, NodesWaitBody, NodesWaitResponse, Outcome } from '../generated/types.js'
import type { RequestOptions } from '../options.js'
import { jsonSchemaOf, type ResultSchema, validated } from '../schema.js'
import { backoff } from '../transport.js'

const longestPoll = 60
const pollMargin = 10_000
/** ms that a restart of the daemon may take. */
const restartMargin = 60_000
/** Failures in a row that a wait outlives: longer than a restart of the daemon takes. */
const waitRetries = 10

export class Nodes extends NodesRoutes {
  /**
   * Waits until the outcome is settled, however long it takes and over restarts of the daemon. `timeout` is for the whole
   * wait here; without it there is no limit.
   *
   * @throws TimeoutError when `timeout` has passed; the node goes on
   */
  waitForOutcome(id: string, options: RequestOptions = {}): Promise<Outcome> {
    return this.#until(options, async (wait, poll) => {
      const outcome = await this.outcome(id, { wait }, poll)
      return outcome.settled ? outcome : undefined
    })
  }

  /**
   * Waits until the node has one of these statuses, however long it takes and over restarts of the daemon. `timeout` is
   * for the whole wait here; without it there is no limit.
   *
   * @param status anything but active unless given: it rests, or has ended
   * @throws TimeoutError when `timeout` has passed
   */
  waitForStatus(id: string, status?: readonly Node['status'][], options: RequestOptions = {}): Promise<Node> {
    return this.#until(options, async (timeout, poll) => {
      const { node, reached } = await this.wait(id, { timeout, ...(status && { status: [...status] }) }, poll)
      return reached ? node : undefined
    })
  }

  /** One wait of at most a minute from outside, over a restart of the daemon; or, as a node itself, to end the turn with. */
  override wait(id: string, body: NodesWaitBody = {}, options: RequestOptions = {}): Promise<NodesWaitResponse> {
    const hold = Math.min(body.timeout ?? longestPoll, longestPoll) * 1000
    return super.wait(id, body, { timeout: hold + restartMargin, maxRetries: this.#retries(options), ...options })
  }

  /**
   * Creates a node and waits for its outcome. `timeout` is for both together; without it there is no limit. The node is
   * terminal unless the body says otherwise: whoever waits wants an end.
   */
  async createAndWait(body: NodeCreate, options: RequestOptions = {}): Promise<Outcome> {
    const until = monotonic() + (options.timeout ?? Number.POSITIVE_INFINITY)
    const node = await this.create({ lifecycle: 'terminal', ...body }, options)
    const { 'idempotency-key': _, ...headers } = lowerCased(options.headers)
    const timeout = options.timeout === undefined ? {} : { timeout: Math.max(1, until - monotonic()) }
    return this.waitForOutcome(node.id, { ...options, headers, ...timeout })
  }

  /**
   * Creates a node that owes a result of this schema, waits for it and gives it back, checked and typed.
   *
   * @param schema a zod schema (or one of another library that follows Standard Schema), or a plain JSON Schema
   * @throws ResultError when the node ends without a result; its `fields.outcome` says how it ended
   */
  async parse<T>(
    body: Omit<NodeCreate, 'result_schema'>,
    schema: ResultSchema<T>,
    options: RequestOptions = {},
  ): Promise<T> {
    const outcome = await this.createAndWait({ ...body, result_schema: jsonSchemaOf(schema) }, options)
    if (outcome.result === undefined || outcome.result === null) {
      const why = outcome.error ? `: ${outcome.error.message}` : ''
      throw new ResultError(`node ${outcome.node_id} ended ${outcome.status} without a result${why}`, { outcome })
    }
    return validated(schema, outcome.result)
  }

  #retries({ maxRetries }: RequestOptions): number {
    return maxRetries ?? this.transport.maxRetries ?? waitRetries
  }

  /** Asks again and again, each time for at most a minute, until there is an answer. */
  async #until<T>(
    options: RequestOptions,
    ask: (hold: number, poll: RequestOptions) => Promise<T | undefined>,
  ): Promise<T> {
    const until = monotonic() + (options.timeout ?? Number.POSITIVE_INFINITY)
    const maxRetries = this.#retries(options)
    for (let polls = 1; ; polls += 1) {
      const started = monotonic()
      const left = until - started
      if (left <= 0) throw new TimeoutError(options.timeout as number)
      const hold = Math.min(longestPoll, Math.ceil(left / 1000))
      const timeout = Math.min(left, hold * 1000 + pollMargin)
      const found = await ask(hold, { ...options, maxRetries, timeout }).catch((error: unknown) => {
        // A restart in the middle of it takes up the time of one poll, not that of the wait.
        if (error instanceof TimeoutError && monotonic() < until) return undefined
        throw error
      })
      if (found !== undefined) return found
      if (monotonic() - started < 1000) await pause(backoff(Math.min(polls, 3)), options.signal)
    }
  }
}

const lowerCased = (headers: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
