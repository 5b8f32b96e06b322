import { backoff, pause } from '#machine/clock.js'
import { ConnectionError, SvcError } from '#sdk/errors.js'
import type { LlmAnswer, LlmItem, TurnCall } from '#sdk/generated/types.js'
import { Ended, endsBroker, mayPass } from '../daemon/endings.js'
import type { TurnFault } from '../node/fault.js'
import { Interrupted, type NodeSession } from '../node/node.session.js'
import { ContextTooLong, TurnFailed, type Verdict, verdictOf } from './model.fault.js'

export interface StepAnswer {
  readonly answer: LlmAnswer
  /** Whether it was bought before and only read back. */
  readonly replayed: boolean
}

export interface AskOptions {
  /** Whether those who watch the node see nothing of the answer. */
  readonly silent?: boolean
}

/** Attempts of one call at a provider that fails. */
const attempts = 4

/**
 * The model's answer to one step of a turn. The same call asked again, by this process or by the next, reads the
 * recorded answer, so a broken connection is no reason to give up.
 *
 * @throws TurnFailed with the fault to show, ContextTooLong among them; Ended; the signal's reason.
 */
export const askModel = async (
  session: NodeSession,
  call: TurnCall,
  signal: AbortSignal,
  options: AskOptions = {},
): Promise<StepAnswer> => {
  for (let failures = 0, waits = 0; ; ) {
    try {
      return await readAnswer(session, call, signal, options)
    } catch (error) {
      if (signal.reason instanceof Interrupted) cancelAtProvider(session, call)
      signal.throwIfAborted()
      if (!(error instanceof SvcError)) throw error
      if (endsBroker(error)) throw new Ended(error.code)
      const verdict: Verdict = verdictOf(error)
      if (verdict.do === 'fail') throw new (verdict.tooLong ? ContextTooLong : TurnFailed)(verdict.fault)
      if (verdict.do === 'again') failures += 1
      else waits += 1
      if (failures >= attempts) throw new TurnFailed(verdict.fault)
      const delay = verdict.delay ?? (verdict.do === 'wait' ? backoff(waits, 25, 2000) : backoff(failures, 250, 8000))
      if (verdict.do === 'again') await show(session, call, verdict.fault, delay)
      await pause(delay, signal)
      signal.throwIfAborted()
    }
  }
}

/** The node shows what its turn meets while it goes on trying; a fault that could not be told is told by the next one. */
const show = async ({ daemon }: NodeSession, { turn }: TurnCall, fault: TurnFault, delay: number): Promise<void> => {
  const { kind, message } = fault
  const told = { turn, kind, message, retry_after_ms: Math.round(delay) }
  try {
    await daemon.postOnce('faults', told)
  } catch (error) {
    if (endsBroker(error)) throw new Ended(error.code)
    // the turn itself waits for a daemon that is away; what is shown of it waits for the next failure
    if (!mayPass(error)) throw error
  }
}

/** A connection that breaks leaves the call running for whoever asks next; an answer that nobody wants is to end. */
const cancelAtProvider = ({ daemon }: NodeSession, { turn, step }: TurnCall): void => {
  // Unheard, the call runs to its end and is kept: nothing is wrong then but its price.
  daemon.postOnce('broker/model-calls/cancel', { turn, step }).catch(() => undefined)
}

const readAnswer = async (
  session: NodeSession,
  call: TurnCall,
  signal: AbortSignal,
  { silent = false }: AskOptions,
): Promise<StepAnswer> => {
  const { daemon, deltas } = session
  if (!silent) deltas.begin()
  let found: StepAnswer | undefined
  // Read to its end, so that the connection can carry the next request.
  for await (const item of daemon.stream<LlmItem>('POST', 'broker/model-calls', call, signal)) {
    switch (item.type) {
      case 'text':
      case 'reasoning':
        if (!silent) deltas.push(item.type, item.text)
        break
      case 'tool_input':
        if (!silent) deltas.push('tool_input', item.text, item.call_id)
        break
      case 'answer':
        found = item
        break
    }
  }
  if (found) return found
  throw new ConnectionError('the stream of the answer ended before the answer')
}
