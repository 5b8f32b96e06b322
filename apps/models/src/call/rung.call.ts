import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { Clock } from '#common/kernel/clock.js'
import { AnswerCollector, type CollectedAnswer, type DeltaItem } from '../conversation/answer.collector.js'
import type { CallLimits } from './call.limits.js'

export interface RungCall {
  readonly model: LanguageModelV4
  readonly options: LanguageModelV4CallOptions
  readonly clock: Clock
  readonly limits: CallLimits
  /** Ends the call at the provider. */
  readonly signal: AbortSignal
  readonly emit: (item: DeltaItem) => void
}

/** Marks an error of ours by the code that `failureOf` reads as a broken connection. */
const broken = (message: string, code: 'ETIMEDOUT' | 'ECONNRESET'): Error => Object.assign(new Error(message), { code })

/** Aborts when the provider says nothing for too long. One timer that looks after itself: a chunk costs no new one. */
class Watch {
  readonly controller = new AbortController()
  #last: number
  #begun = false
  #callOff: () => void = () => undefined

  constructor(
    private readonly clock: Clock,
    private readonly limits: CallLimits,
  ) {
    this.#last = clock.monotonic()
    this.#look(limits.firstToken)
  }

  heard(begun: boolean): void {
    this.#last = this.clock.monotonic()
    if (begun && !this.#begun) {
      this.#begun = true
      this.#callOff()
      this.#look(this.limits.idle)
    }
  }

  stop(): void {
    this.#callOff()
  }

  #look(after: number): void {
    this.#callOff = this.clock.after(after, () => {
      const left = this.#begun ? this.limits.idle - (this.clock.monotonic() - this.#last) : 0
      if (left > 0) this.#look(left)
      else this.controller.abort(this.#tooLate())
    })
  }

  #tooLate(): Error {
    return this.#begun
      ? broken(`it said nothing for ${this.limits.idle} ms in the middle of its answer`, 'ETIMEDOUT')
      : broken(`it did not begin to answer within ${this.limits.firstToken} ms`, 'ETIMEDOUT')
  }
}

/** The promise's own outcome, or the signal's reason if that comes first. */
const unlessAborted = <T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    promise.then(resolve, reject).then(() => signal.removeEventListener('abort', leave))
  })

const read = async (
  stream: ReadableStream<LanguageModelV4StreamPart>,
  { emit }: RungCall,
  watch: Watch,
  signal: AbortSignal,
): Promise<CollectedAnswer> => {
  const collector = new AnswerCollector()
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await unlessAborted(reader.read(), signal)
      if (done) break
      if (value.type === 'error') throw value.error
      const item = collector.accept(value)
      watch.heard(collector.begun)
      if (item) emit(item)
    }
  } finally {
    reader.cancel().catch(() => undefined) // a stream that broke can't be canceled either
  }
  if (!collector.finished) throw broken('its answer broke off before the end', 'ECONNRESET')
  return collector.collect()
}

/**
 * One call of one model, streamed. Nothing is tried again here.
 *
 * @throws whatever the provider's code throws; the reason of `signal` when that fired.
 */
export const callRung = async (call: RungCall): Promise<CollectedAnswer> => {
  const watch = new Watch(call.clock, call.limits)
  const signal = AbortSignal.any([call.signal, watch.controller.signal])
  try {
    const { stream } = await unlessAborted(call.model.doStream({ ...call.options, abortSignal: signal }), signal)
    return await read(stream, call, watch, signal)
  } finally {
    watch.stop()
  }
}
