import type { JournalEntry, LlmAnswer, MailEntry } from '#sdk/generated/types.js'
import { ContextKeeper } from '../context/context.keeper.js'
import type { Entry, Next } from '../daemon/journal.client.js'
import { faultOf } from '../node/fault.js'
import { takenAtOnce } from '../node/mail.attachments.js'
import type { NodeEngine } from '../node/node.engine.js'
import { Interrupted, type NodeSession } from '../node/node.session.js'
import { settlementOf } from '../node/settlement.js'
import type { OpenTurn } from '../node/turn.state.js'
import { type ToolBox, toolBoxOf } from '../tools/tool.box.js'
import { ContextTooLong, TurnFailed } from './model.fault.js'
import { askModel, type StepAnswer } from './model.step.js'
import { overtaken, runCalls, type Started, unknownEnd } from './tool.batch.js'
import { callsOf, type ToolCallPart, withOwnCallIds } from './tool.calls.js'
import { endingOf, hasWorked, isSettled, wordsBeforeNudge } from './turn.ending.js'

/** Model calls of one turn at most. */
const stepLimit = 200

const tryAgain = '[The model could not answer in the turn before this, which was ended. Go on with the work.]'

type Message = Extract<Entry, { type: 'message' }>
/** A turn whose beginning is on its way into the record. */
interface Recorded {
  readonly recording: Promise<Next>
  readonly entries: JournalEntry[]
}
type TurnStarted = Extract<JournalEntry, { type: 'turn_started' }>

/** The built-in agent: asks the model, runs the tools that it calls, and so on until it is done. */
export class LoopEngine implements NodeEngine {
  readonly #tools: ToolBox
  readonly #context: ContextKeeper

  constructor(private readonly session: NodeSession) {
    this.#tools = toolBoxOf(session)
    this.#context = new ContextKeeper(session, this.#tools)
  }

  async run(turn: number, waiting: readonly MailEntry[]): Promise<Next> {
    const mail = waiting.slice(0, takenAtOnce(waiting))
    this.session.mailbox.putBack(waiting.slice(mail.length))
    const content = await this.#context.begin(mail)
    return this.#begin({ type: 'turn_started', turn, mail: mail.map(({ id }) => id), content })
  }

  async retry(turn: number): Promise<Next> {
    const content = await this.#context.begin([], { type: 'text', text: tryAgain })
    return this.#begin({ type: 'turn_started', turn, mail: [], content })
  }

  async #begin(start: TurnStarted): Promise<Next> {
    const { turn, mail } = start
    const entries = [...this.session.history, start]
    const recording = this.session.append(start)
    // Recorded while the model thinks. With one piece of mail nothing is lost by that: a process that dies in between
    // leaves an answer to the very same question, which the next one reads back.
    const alone = mail.length === 1 && !this.#context.isFull(entries)
    if (!alone) await recording
    const recorded = alone ? { recording, entries } : undefined
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
    const settled = await runCalls(this.#tools, dangling, async (call) =>
      this.#tools.isRepeatable(call)
        ? this.#tools.run(call, session.turnSignal, { repeated: true })
        : { entry: unknownEnd(call) },
    )
    const done = settled.find(({ ends }) => ends)
    const entries = settled.map(({ entry }) => entry)
    if (!done) {
      await session.append(...entries)
      return undefined
    }
    return session.append(...entries, { type: 'turn_ended', turn, status: 'completed' })
  }

  async #steps(turn: number, first: number, recorded?: Recorded): Promise<Next> {
    const { session } = this
    for (let step = first; step <= stepLimit; step += 1) {
      const fresh = step === 1 && first === 1
      const { answer, replayed } = await this.#ask(turn, step, fresh ? recorded : undefined)
      const inTurn = this.#turnSoFar(turn)
      // Bought by a process that died before its turn was in the record, maybe for less mail than there is now.
      if (fresh && replayed && mailOf(inTurn) > 1) continue
      const content = withOwnCallIds(answer.content, inTurn, step)
      const message: Message = {
        type: 'message',
        turn,
        step,
        role: 'assistant',
        content,
        model: answer.model,
        ...this.#context.measure(answer),
      }
      const calls = callsOf(content)
      session.deltas.recorded()
      const next = calls.length ? await this.#call(message, calls) : await this.#stop(message, answer)
      if (next) return next
    }
    throw new TurnFailed(
      faultOf('other', `The turn took ${stepLimit} steps without coming to an end, and was stopped.`),
    )
  }

  #turnSoFar(turn: number): JournalEntry[] {
    return this.session.history.filter((entry) => entry.turn === turn)
  }

  /** The model stopped. Answers the daemon's word, unless the turn goes on. */
  async #stop(message: Message, answer: LlmAnswer): Promise<Next | undefined> {
    const { session } = this
    const { turn, step } = message
    const { assignment, history } = session
    const stop = { answer, turn: this.#turnSoFar(turn), worked: hasWorked(assignment, history) }
    const settled = isSettled(assignment, stop) ? await settlementOf(session, turn) : undefined
    const ending = endingOf(assignment, { ...stop, settled })
    switch (ending.do) {
      case 'nudge':
        await session.append(message, { type: 'message', turn, step, role: 'user', content: [ending.part] })
        return undefined
      case 'fail':
        return session.append(message, failed(turn, new TurnFailed(faultOf('other', ending.why))))
      case 'end':
        return session.append(message, { type: 'turn_ended', turn, status: 'completed', ...finalOf(ending) })
    }
  }

  /** The model called tools. Answers the daemon's word when the turn ended with these calls. */
  async #call(message: Message, calls: readonly ToolCallPart[]): Promise<Next | undefined> {
    const { turn, step } = message
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
    if ((await this.session.append(message, ...started)) === 'stop') {
      return this.session.append(...started.map(overtaken), { type: 'turn_ended', turn, status: 'completed' })
    }
    return this.#runTools(turn, step, started, new Map(calls.map((call) => [call.call_id, call.invalid])))
  }

  async #runTools(
    turn: number,
    step: number,
    started: readonly Started[],
    invalid: ReadonlyMap<string, string | undefined>,
  ): Promise<Next | undefined> {
    const { session } = this
    const signal = session.turnSignal
    const results = await runCalls(this.#tools, started, (call) =>
      this.#tools.run(call, signal, { invalid: invalid.get(call.call_id) }),
    )
    if (session.ended.aborted) throw session.ended.reason
    const ended = results.map(({ entry }) => entry)
    const done = results.find(({ ends }) => ends)
    if (done) return session.append(...ended, { type: 'turn_ended', turn, status: 'completed' })
    if (signal.aborted) return session.append(...ended, { type: 'turn_ended', turn, status: 'interrupted' })
    const mail = await this.#steering()
    const content = [...(await this.#context.partsOf(mail)), ...this.#context.notes(ended)]
    const word: Entry[] = content.length ? [{ type: 'message', turn, step, role: 'user', content }] : []
    const next = await session.append(...ended, ...word)
    await session.mailbox.acknowledge(mail)
    // The node was ended by what a tool did: its final report pushed from a shell, for one.
    return next === 'stop' ? session.append({ type: 'turn_ended', turn, status: 'completed' }) : undefined
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

  async #ask(turn: number, step: number, recorded?: Recorded): Promise<StepAnswer> {
    if (!recorded) await this.#context.makeRoom(turn, step)
    try {
      return await this.#askOnce(turn, step, recorded)
    } catch (error) {
      if (!(error instanceof ContextTooLong)) throw error
      await this.#context.shrink(turn, step, error)
      return this.#ask(turn, step)
    }
  }

  async #askOnce(turn: number, step: number, recorded: Recorded | undefined): Promise<StepAnswer> {
    const { session } = this
    const call = this.#context.callOf(turn, step, recorded?.entries ?? session.history)
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

  /** A node that has said its last words is not failed for want of the answer that it need not have given. */
  #failing(turn: number, error: TurnFailed): Entry[] {
    const entries = this.#turnSoFar(turn)
    const final = wordsBeforeNudge(entries)
    const step = entries.findLast((entry) => 'step' in entry)
    if (final === undefined || !step || !('step' in step)) return [failed(turn, error)]
    const text = `[The model could not be asked once more: ${error.message} Its last words stand as the final report.]`
    const told: Message = { type: 'message', turn, step: step.step, role: 'user', content: [{ type: 'text', text }] }
    return [told, { type: 'turn_ended', turn, status: 'completed', final }]
  }

  async #guarded(turn: number, work: () => Promise<Next>): Promise<Next> {
    const { session } = this
    try {
      return await work()
    } catch (error) {
      if (session.ended.aborted) throw session.ended.reason
      if (error instanceof TurnFailed) return session.append(...this.#failing(turn, error))
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
