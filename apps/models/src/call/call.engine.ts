import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { LlmAnswer } from '#common/contract/index.js'
import type { Clock } from '#common/kernel/clock.js'
import { abortedBy, isSvcError, SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import type { SchemaThread } from '#common/kernel/schema/schema.thread.js'
import { splitRung } from '../config/config.rules.js'
import { contextWindowOf } from '../config/context-window.js'
import { ladderFor } from '../config/ladder.js'
import { costOf } from '../config/price.js'
import type { CollectedAnswer, DeltaItem } from '../conversation/answer.collector.js'
import { callOptionsOf } from '../conversation/call.options.js'
import { refusesImages, withoutImages } from '../conversation/image.refusal.js'
import { secretsOf } from '../credential/credential.material.js'
import type { ModelFactory } from '../provider/model.factory.js'
import type { Provider } from '../provider/provider.directory.js'
import { errorOf, failureOf } from '../provider/provider.failure.js'
import type { ProviderHealth } from '../provider/provider.health.js'
import type { ProviderRegistry, Providers } from '../provider/provider.registry.js'
import { remedyFor } from '../readiness/remedy.js'
import type { CallLimits } from './call.limits.js'
import type { CallSlots } from './call.slots.js'
import type { EngineCall } from './engine.call.js'
import { callRung } from './rung.call.js'
import { type OutputJudge, outputJudge } from './structured.output.js'

interface Rung {
  readonly name: string
  readonly provider: Provider
  readonly model: string
}

type Attempt = LlmAnswer['attempts'][number]

/** Failures that the next rung would only meet again. */
const final = new Set(['invalid_request', 'schema_mismatch'])
/** Of several failures the one is told that trying again later can mend. */
const passing = ['rate_limit', 'overloaded', 'connection']

/**
 * One model call: the rungs of a ladder in order until one begins to answer. After its first word there is no other
 * rung, since somebody may have read it. Nothing is sent twice to one rung, but for a conversation whose images it refused:
 * that goes on without them, or one picture would end it for good.
 */
export class CallEngine {
  constructor(
    private readonly registry: ProviderRegistry,
    private readonly factory: ModelFactory,
    private readonly health: ProviderHealth,
    private readonly slots: CallSlots,
    private readonly limits: CallLimits,
    private readonly schemas: SchemaThread,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /**
   * @param signal ends the call at the provider; its reason is thrown when it is one of our errors.
   * @param emit is given the answer as it comes.
   * @throws SvcError model_not_configured, model_not_found, model_error (fields `provider`, `model`, `reason`,
   * `upstream_status`, `retry_after_ms`, and `attempts` where several rungs failed), rate_limited, validation_failed,
   * client_closed.
   */
  async run(call: EngineCall, signal: AbortSignal, emit: (item: DeltaItem) => void): Promise<LlmAnswer> {
    const providers = await this.registry.current()
    const rungs = this.#rungs(call, providers)
    const judge = call.schema && (await outputJudge(call.schema, this.schemas))
    const limit = providers.config.document.limits.concurrent_calls ?? this.limits.concurrent
    return this.slots.run(limit, signal, () => this.#climb({ call, providers, rungs, judge, signal, emit }))
  }

  #rungs(call: EngineCall, providers: Providers): Rung[] {
    const { document } = providers.config
    const has = (name: string): boolean => {
      const provider = providers.byName.get(name)
      return provider !== undefined && this.registry.obstacle(providers, provider) === null
    }
    if (call.model !== undefined) return [this.#named(call.model, providers)]
    const { rungs } = ladderFor(call.strength, document, has)
    const usable = rungs.filter((rung) => has(splitRung(rung).provider)).map((rung) => this.#named(rung, providers))
    if (usable.length) return usable
    throw new SvcError('model_not_configured', `No model is configured for the strength "${call.strength}".`, {
      strength: call.strength,
      remedy: remedyFor(providers, (provider) => this.registry.obstacle(providers, provider)),
    })
  }

  #named(name: string, providers: Providers): Rung {
    if (!/^[^/]+\/.+$/.test(name)) {
      throw new SvcError('validation_failed', undefined, {
        errors: [{ pointer: '/model', message: 'must be provider/model' }],
      })
    }
    const { provider: providerName, model } = splitRung(name)
    const provider = providers.byName.get(providerName)
    const obstacle = provider ? this.registry.obstacle(providers, provider) : 'it is not configured'
    if (provider && !obstacle) return { name, provider, model }
    throw new SvcError('model_not_configured', `The provider "${providerName}" can't be called: ${obstacle}.`, {
      provider: providerName,
      remedy: remedyFor(providers, (one) => this.registry.obstacle(providers, one), providerName),
    })
  }

  async #climb(climb: Climb): Promise<LlmAnswer> {
    const attempts: Attempt[] = []
    const errors: SvcError[] = []
    for (const rung of climb.rungs) {
      let begun = false
      const emit = (item: DeltaItem): void => {
        begun = true
        climb.emit(item)
      }
      try {
        return await this.#try(rung, { ...climb, emit }, attempts)
      } catch (error) {
        if (!isSvcError(error) || error.code === 'client_closed') throw error
        if (begun || final.has(String(error.fields.reason))) throw withAttempts(error, attempts)
        errors.push(error)
        attempts.push({ model: rung.name, code: error.code, message: error.message })
        this.log.warn(
          { model: rung.name, reason: error.fields.reason, upstream_status: error.fields.upstream_status },
          'a model did not answer',
        )
      }
    }
    throw tellOne(errors, attempts)
  }

  async #try(rung: Rung, climb: Climb, attempts: Attempt[]): Promise<LlmAnswer> {
    const { name: provider } = rung.provider
    const admission = this.health.admit(provider)
    if (!admission.admitted) {
      const reason = 'it has failed repeatedly and is left alone for a while'
      throw errorOf(
        { reason: 'connection', message: reason, retryAfterMs: admission.retryAfterMs },
        provider,
        rung.model,
      )
    }
    const collected = await this.#send(rung, climb)
    this.health.succeeded(provider)
    return this.#answer(rung, climb, collected, attempts)
  }

  async #send(rung: Rung, climb: Climb): Promise<CollectedAnswer> {
    const { call, signal, emit } = climb
    const { provider } = rung
    let begun = false
    const told = (item: DeltaItem): void => {
      begun = true
      emit(item)
    }
    try {
      const model = await this.factory.model(provider, rung.model)
      const options: LanguageModelV4CallOptions = callOptionsOf(call, provider)
      return await callRung({ model, options, clock: this.clock, limits: this.limits, signal, emit: told })
    } catch (error) {
      if (signal.aborted) {
        this.health.withdrew(provider.name)
        throw abortedBy(signal)
      }
      const failure = failureOf(error, this.clock.now(), secretsOf(provider.material))
      if (!begun && refusesImages(failure, call.messages)) {
        return this.#send(rung, { ...climb, call: { ...call, messages: withoutImages(call.messages) } })
      }
      this.health.failed(provider.name, failure.reason, failure.message)
      throw errorOf(failure, provider.name, rung.model)
    }
  }

  async #answer(
    rung: Rung,
    { judge, providers }: Climb,
    collected: CollectedAnswer,
    attempts: Attempt[],
  ): Promise<LlmAnswer> {
    const { content, finishReason, tokens } = collected
    const { prices, context_windows } = providers.config.document
    const cost_usd = costOf(rung.name, tokens, prices)
    return {
      content,
      ...(judge && { output: await judge.judge(content, { provider: rung.provider.name, model: rung.model }) }),
      finish_reason: finishReason,
      model: rung.name,
      usage: { ...tokens, cost_usd },
      context_window: contextWindowOf(rung.name, rung.provider.type, context_windows),
      attempts,
    }
  }
}

interface Climb {
  readonly call: EngineCall
  readonly providers: Providers
  readonly rungs: readonly Rung[]
  readonly judge: OutputJudge | undefined
  readonly signal: AbortSignal
  readonly emit: (item: DeltaItem) => void
}

/** The error that says most of a whole ladder: one that passes, with the shortest wait; else the first. */
const tellOne = (errors: readonly SvcError[], attempts: readonly Attempt[]): SvcError => {
  const [first] = errors
  if (!first) throw new Error('a ladder without rungs was climbed')
  if (errors.length === 1) return first
  const wait = (error: SvcError): number => Number(error.fields.retry_after_ms ?? Number.POSITIVE_INFINITY)
  const soonest = errors
    .filter((error) => passing.includes(String(error.fields.reason)))
    .reduce<SvcError | undefined>((best, error) => (best && wait(best) <= wait(error) ? best : error), undefined)
  return withAttempts(soonest ?? first, attempts)
}

const withAttempts = (error: SvcError, attempts: readonly Attempt[]): SvcError =>
  attempts.length ? new SvcError(error.code, error.message, { ...error.fields, attempts }) : error
