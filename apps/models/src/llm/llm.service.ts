import type { z } from 'zod'
import type { LlmAnswer, LlmItem, llmRequest } from '#common/contract/index.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import type { Writer } from '#common/kernel/database/writer.js'
import { isSvcError, SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import type { Logger } from '#common/kernel/log.js'
import { CallBuffer } from '../call/call.buffer.js'
import type { CallEngine } from '../call/call.engine.js'
import type { EngineCall } from '../call/engine.call.js'
import type { DeltaItem } from '../conversation/answer.collector.js'
import type { BudgetService } from '../usage/budget.service.js'
import type { SpendRepository } from '../usage/spend.repository.js'
import { usageMessage } from '../usage/usage.relay.js'
import type { CallKeys, TakenKey } from './call.keys.js'

export type LlmRequest = z.infer<typeof llmRequest>

const engineCall = ({ strength, ...call }: LlmRequest): EngineCall => {
  if (strength !== undefined && call.model !== undefined) {
    const errors = [{ pointer: '/model', message: 'give a model or a strength, not both' }]
    throw new SvcError('validation_failed', undefined, { errors })
  }
  return { ...call, strength: strength ?? 'medium' }
}

/** An answer, and whether it was bought before. */
interface Bought {
  readonly answer: LlmAnswer
  readonly replayed: boolean
}

/** One call on its way. */
interface Asked {
  readonly ctx: Context
  readonly call: EngineCall
  readonly signal: AbortSignal
  readonly emit: (item: DeltaItem) => void
}

/**
 * Single model calls of whoever may make them. They end with their caller, are accounted to its principal and node, and are
 * bought once under an idempotency key.
 */
export class LlmService {
  constructor(
    private readonly writer: Writer,
    private readonly engine: CallEngine,
    private readonly budget: BudgetService,
    private readonly spend: SpendRepository,
    private readonly keys: CallKeys,
    private readonly log: Logger,
  ) {}

  /** Errors as of the engine, of keys, and budget_exhausted. */
  async call(ctx: Context, request: LlmRequest): Promise<LlmAnswer> {
    const { answer, replayed } = await this.#run(ctx, request, ctx.signal, () => undefined)
    if (replayed && ctx.notes) ctx.notes.replayed = true
    return answer
  }

  /** The same as a stream; its last item is the answer. Leaving it ends the call at the provider. */
  async *stream(ctx: Context, request: LlmRequest): AsyncGenerator<LlmItem, void, undefined> {
    const buffer = new CallBuffer<LlmItem>()
    const left = new AbortController()
    const signal = AbortSignal.any([ctx.signal, left.signal])
    this.#run(ctx, request, signal, (item) => buffer.push(item)).then(
      (bought) => {
        buffer.push({ type: 'answer', ...bought })
        buffer.finish()
      },
      (error: unknown) => buffer.fail(error),
    )
    yield* buffer.read(ctx.signal, () => left.abort(new SvcError('client_closed')))
  }

  async #run(ctx: Context, request: LlmRequest, signal: AbortSignal, emit: (item: DeltaItem) => void): Promise<Bought> {
    const asked = { ctx, call: engineCall(request), signal, emit }
    const { idempotencyKey: key, actor } = ctx
    if (key === undefined) return { answer: await this.#buy(asked), replayed: false }
    const named = { principal: actor.principal, key }
    const first = await this.keys.take(named, { operation: 'llm.call', input: request }, signal)
    if ('answer' in first) return { answer: first.answer, replayed: true }
    try {
      return { answer: await this.#buyUnder(asked, first), replayed: false }
    } finally {
      first.done()
    }
  }

  async #buyUnder(asked: Asked, key: TakenKey): Promise<LlmAnswer> {
    try {
      return await this.#buy(asked, key)
    } catch (error) {
      // one that its caller left, or that this service ended, may have been answered without anybody seeing it
      const said = isSvcError(error) && !asked.signal.aborted
      await (said ? key.release() : key.forsake())
      throw error
    }
  }

  async #buy({ ctx, call, signal, emit }: Asked, key?: TakenKey): Promise<LlmAnswer> {
    await this.budget.check()
    const answer = await this.engine.run(call, signal, emit)
    await this.#account(ctx, answer, key)
    return answer
  }

  /** The answer is told even when its cost could not be put down: it has been paid for. */
  async #account(ctx: Context, answer: LlmAnswer, key: TakenKey | undefined): Promise<void> {
    try {
      await this.writer.transact(systemContext('models'), async ({ tx }) => {
        const { principal, nodeId } = ctx.actor
        this.spend.add(tx, principal, answer)
        key?.keep(tx, answer)
        if (nodeId !== undefined) tx.deliver(usageMessage(newId('evt'), nodeId, answer))
      })
    } catch (err) {
      this.log.error(
        { err, principal: ctx.actor.principal, usage: answer.usage },
        'the cost of a model call was not recorded',
      )
    }
  }
}
