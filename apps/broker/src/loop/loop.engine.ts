import type { JournalEntry, MailEntry, TurnCall } from '#sdk/generated/types.js'
import type { Entry, Next } from '../daemon/journal.client.js'
import { faultOf } from '../node/fault.js'
import { mailPart } from '../node/mail.text.js'
import type { NodeEngine } from '../node/node.engine.js'
import { Interrupted, type NodeSession } from '../node/node.session.js'
import type { OpenTurn } from '../node/turn.state.js'
import { type FinishedCall, type ToolBox, toolBoxOf } from '../tools/tool.box.js'
import { conversationOf } from './conversation.js'
import { TurnFailed } from './model.fault.js'
import { askModel, type StepAnswer } from './model.step.js'
import { systemPrompt } from './system-prompt.js'
import { callsOf, withOwnCallIds } from './tool.calls.js'
import { endingOf } from './turn.ending.js'

/** Model calls of one turn at most. */
const stepLimit = 200

const tryAgain = '[The model could not answer in the turn before this, which was ended. Go on with the work.]'

type TurnStarted = Extract<JournalEntry, { type: 'turn_started' }>
type Started = Extract<JournalEntry, { type: 'tool_started' }>
type ToolEnded = Extract<JournalEntry, { type: 'tool_ended' }>

/** The built-in agent: asks the model, runs the tools that it calls, and so on until it is done. */
export class LoopEngine implements NodeEngine {
  readonly #tools: ToolBox

  constructor(private readonly session: NodeSession) {
    this.#tools = toolBoxOf(session)
  }

  run(turn: number, mail: readonly MailEntry[]): Promise<Next> {
    return this.#begin({ type: 'turn_started', turn, mail: mail.map(({ id }) => id), content: mail.map(mailPart) })
  }

  retry(turn: number): Promise<Next> {
    return this.#begin({ type: 'turn_started', turn, mail: [], content: [{ type: 'text', text: tryAgain }] })
  }

  async #begin(start: TurnStarted): Promise<Next> {
    const { turn, mail } = start
    const before = [...this.session.history]
    const recording = this.session.append(start)
    // Recorded while the model thinks. With one piece of mail nothing is lost by that: a process that dies in between
    // leaves an answer to the very same question, which the next one reads back.
    if (mail.length !== 1) await recording
    const recorded = mail.length === 1 ? { recording, entries: [...before, start] } : undefined
    return this.#guarded(turn, () => this.#steps(turn, 1, recorded))
  }

  async resume({ turn, entries, dangling }: OpenTurn): Promise<Next> {
    if (this.session.assignment.reported) {
      return this.session.append(...dangling.map(unknownEnd), { type: 'turn_ended', turn, status: 'completed' })
    }
    return this.#guarded(turn, async () => {
      const last = entries.findLast((entry) => entry.type === 'message' && entry.role === 'assistant')
      if (dangling.length) {
        const ended = await this.#settle(dangling)
        if (ended) return ended
      }
      return this.#steps(turn, (last && 'step' in last ? last.step : 0) + 1)
    })
  }

  /** Calls that can be repeated without a second effect are; of the others the model is told that nobody knows. */
  async #settle(dangling: readonly Started[]): Promise<Next | undefined> {
    const { turn } = dangling[0]!
    const { session } = this
    const settle = async (call: Started): Promise<FinishedCall> =>
      this.#tools.isRepeatable(call)
        ? this.#tools.run(call, session.turnSignal, { repeated: true })
        : { entry: unknownEnd(call) }
    const settled = await Promise.all(dangling.map(settle))
    const done = settled.find(({ ends }) => ends)
    const entries = settled.map(({ entry }) => entry)
    if (!done) {
      await session.append(...entries)
      return undefined
    }
    return session.append(...entries, { type: 'turn_ended', turn, status: 'completed' })
  }

  async #steps(
    turn: number,
    first: number,
    recorded?: { recording: Promise<Next>; entries: JournalEntry[] },
  ): Promise<Next> {
    const { session } = this
    for (let step = first; step <= stepLimit; step += 1) {
      const fresh = step === 1 && first === 1
      const { answer, replayed } = await this.#ask(turn, step, fresh ? recorded : undefined)
      const inTurn = session.history.filter((entry) => entry.turn === turn)
      // Bought by a process that died before its turn was in the record, maybe for less mail than there is now.
      if (fresh && replayed && mailOf(inTurn) > 1) continue
      const content = withOwnCallIds(answer.content, inTurn, step)
      const message: Entry = { type: 'message', turn, step, role: 'assistant', content, model: answer.model }
      const calls = callsOf(content)
      session.deltas.recorded()
      if (!calls.length) {
        const ending = endingOf(session.assignment, inTurn, answer)
        if (ending.do === 'nudge')
          await session.append(message, { type: 'message', turn, step, role: 'user', content: [ending.part] })
        else if (ending.do === 'fail')
          return session.append(message, failed(turn, new TurnFailed(faultOf('other', ending.why))))
        else return session.append(message, { type: 'turn_ended', turn, status: 'completed', ...finalOf(ending) })
        continue
      }
      const started = calls.map(
        ({ call_id, name, input }): Started => ({
          type: 'tool_started',
          turn,
          step,
          call_id,
          name,
          input: input ?? null,
        }),
      )
      if ((await session.append(message, ...started)) === 'stop') return this.#overtaken(turn, started)
      const next = await this.#runTools(turn, step, started, new Map(calls.map((call) => [call.call_id, call.invalid])))
      if (next) return next
    }
    throw new TurnFailed(
      faultOf('other', `The turn took ${stepLimit} steps without coming to an end, and was stopped.`),
    )
  }

  /** Answers the daemon's word when the turn ended with these calls. */
  async #runTools(
    turn: number,
    step: number,
    started: readonly Started[],
    invalid: ReadonlyMap<string, string | undefined>,
  ): Promise<Next | undefined> {
    const { session } = this
    const signal = session.turnSignal
    const results = await Promise.all(
      started.map((call) => this.#tools.run(call, signal, { invalid: invalid.get(call.call_id) })),
    )
    if (session.ended.aborted) throw session.ended.reason
    const ended = results.map(({ entry }) => entry)
    const done = results.find(({ ends }) => ends)
    if (done) return session.append(...ended, { type: 'turn_ended', turn, status: 'completed' })
    if (signal.aborted) return session.append(...ended, { type: 'turn_ended', turn, status: 'interrupted' })
    const mail = await this.#steering()
    const word: Entry[] = mail.length
      ? [{ type: 'message', turn, step, role: 'user', content: mail.map(mailPart) }]
      : []
    const next = await session.append(...ended, ...word)
    await session.mailbox.acknowledge(mail)
    // The node was ended by what a tool did: its final report pushed from a shell, for one.
    return next === 'stop' ? session.append({ type: 'turn_ended', turn, status: 'completed' }) : undefined
  }

  /** The node ended while the model thought: what it wanted to do is not done. */
  #overtaken(turn: number, started: readonly Started[]): Promise<Next> {
    const ended = started.map(
      ({ step, call_id, name }): ToolEnded => ({
        type: 'tool_ended',
        turn,
        step,
        call_id,
        name,
        status: 'canceled',
        output: 'The work had ended before this call began; it was not carried out.',
      }),
    )
    return this.session.append(...ended, { type: 'turn_ended', turn, status: 'completed' })
  }

  async #steering(): Promise<MailEntry[]> {
    const { session } = this
    if (!session.steering) return []
    session.steering = false
    const mail = await session.mailbox.takeSteering()
    // Where some was, more may be: a claim is bounded.
    if (mail.length) session.steering = true
    return mail
  }

  async #ask(
    turn: number,
    step: number,
    recorded?: { recording: Promise<Next>; entries: JournalEntry[] },
  ): Promise<StepAnswer> {
    const { session } = this
    const call = this.#callOf(turn, step, recorded?.entries ?? session.history)
    if (!recorded) return askModel(session, call, session.turnSignal)
    const refused = new AbortController()
    recorded.recording.catch((error: unknown) => refused.abort(error))
    const answer = askModel(session, call, AbortSignal.any([session.turnSignal, refused.signal]))
    try {
      return await answer
    } finally {
      // Nothing of a turn is used before its beginning is in the record.
      await recorded.recording
    }
  }

  #callOf(turn: number, step: number, history: readonly JournalEntry[]): TurnCall {
    const { assignment } = this.session
    const { strength, override } = assignment.model
    const system = systemPrompt(assignment, this.#tools.mayAct)
    return {
      turn,
      step,
      strength: strength as TurnCall['strength'],
      ...(override !== undefined && { model: override }),
      tools: this.#tools.definitions,
      messages: [{ role: 'system', content: [{ type: 'text', text: system }] }, ...conversationOf(history)],
    }
  }

  async #guarded(turn: number, work: () => Promise<Next>): Promise<Next> {
    const { session } = this
    try {
      return await work()
    } catch (error) {
      if (session.ended.aborted) throw session.ended.reason
      if (error instanceof TurnFailed) return session.append(failed(turn, error))
      if (!(error instanceof Interrupted)) throw error
      return session.append({ type: 'turn_ended', turn, status: 'interrupted' })
    }
  }
}

const failed = (turn: number, { fault }: TurnFailed): Entry => ({ type: 'turn_ended', turn, status: 'failed', fault })

const finalOf = ({ final }: { final?: string | undefined }): { final?: string } =>
  final === undefined ? {} : { final }

const mailOf = (turn: readonly JournalEntry[]): number =>
  turn.reduce((count, entry) => count + (entry.type === 'turn_started' ? entry.mail.length : 0), 0)

const unknownEnd = ({ turn, step, call_id, name }: Started): ToolEnded => ({
  type: 'tool_ended',
  turn,
  step,
  call_id,
  name,
  status: 'outcome_unknown',
  output:
    'The process that ran this call was lost while it ran. The call may have taken effect in full, in part, or not at all. Look at the present state before you repeat it.',
})
