import type { ContentPart, JournalEntry, LlmAnswer, MailEntry, TurnCall } from '#sdk/generated/types.js'
import type { Entry } from '../daemon/journal.client.js'
import { conversationOf } from '../loop/conversation.js'
import { ContextTooLong, TurnFailed } from '../loop/model.fault.js'
import { askModel } from '../loop/model.step.js'
import { faultOf } from '../node/fault.js'
import { attachmentParts, withinRecord } from '../node/mail.attachments.js'
import { mailPart } from '../node/mail.text.js'
import type { NodeSession } from '../node/node.session.js'
import { systemPrompt } from '../prompt/system.prompt.js'
import type { ToolBox } from '../tools/tool.box.js'
import { type CompactionPlan, compactionOf } from './compaction.plan.js'
import { bandNote, bands } from './context.band.js'
import { carefulWindow, type Gauge, gaugeOf, measureOf } from './context.gauge.js'
import { bytesOfMessages, mostBytes } from './message.bytes.js'
import { laterParts, openingParts } from './opening.text.js'
import { summaryCall, summaryOf, summaryStep } from './summary.call.js'
import { tokensOfText } from './token.estimate.js'

type Compacted = Extract<JournalEntry, { type: 'compacted' }>
type Journal = readonly JournalEntry[]

/** How often what is to be condensed is halved, when a provider finds it too long as well. */
const shrinks = 3

/** Lays out what the model is sent, and keeps it within the model's window. */
export class ContextKeeper {
  constructor(
    private readonly session: NodeSession,
    private readonly tools: ToolBox,
  ) {}

  /** What a turn begins with: in a fresh context first where the agent is and what its project says, then the mail. */
  async begin(mail: readonly MailEntry[], otherwise?: ContentPart): Promise<ContentPart[]> {
    const { history, assignment } = this.session
    const before = history.length
      ? laterParts(history, mail)
      : await openingParts({ cwd: assignment.cwd, mail }, this.tools.mayAct ? this.tools.files : undefined)
    const note = history.length ? this.notes() : []
    return [...before, ...(await this.partsOf(mail)), ...(otherwise ? [otherwise] : []), ...note]
  }

  /** Mail as the model reads it. */
  async partsOf(mail: readonly MailEntry[]): Promise<ContentPart[]> {
    const { daemon, ended } = this.session
    const parts = mail.map(async (one) => [mailPart(one), ...(await attachmentParts(one, daemon, ended))])
    return withinRecord((await Promise.all(parts)).flat())
  }

  /** What the agent is told of its context before the next step. @param latest entries that are about to be recorded */
  notes(latest: Journal = []): ContentPart[] {
    const journal = [...this.session.history, ...latest]
    const canYield = this.tools.definitions.some(({ name }) => name === 'yield')
    return bandNote(journal, this.#gauge(journal), canYield)
  }

  callOf(turn: number, step: number, history: Journal): TurnCall {
    const { strength, override } = this.session.assignment.model
    return {
      turn,
      step,
      strength: strength as TurnCall['strength'],
      ...(override !== undefined && { model: override }),
      tools: this.tools.definitions,
      messages: [{ role: 'system', content: [{ type: 'text', text: this.#system() }] }, ...conversationOf(history)],
    }
  }

  /** What is recorded of the context with an answer. */
  measure(answer: LlmAnswer): ReturnType<typeof measureOf> {
    return measureOf(answer, this.#gauge(this.session.history).tokens)
  }

  /** Whether the conversation has to be made smaller before the next call. */
  isFull(journal: Journal): boolean {
    const { tokens, window } = this.#gauge(journal)
    return (window !== undefined && tokens >= bands.force * window) || this.#hasTooManyBytes(journal)
  }

  /**
   * Makes the conversation smaller where it has to be. Recorded, so that whoever comes after this process goes on with it.
   *
   * @throws TurnFailed when it does not fit into one request, and can't be made smaller; as `askModel`
   */
  async makeRoom(turn: number, step: number): Promise<void> {
    const { history } = this.session
    if (this.#hasTooManyBytes(history)) {
      const why = `A conversation of more than ${mostBytes} bytes can't be sent.`
      await this.shrink(turn, step, new ContextTooLong(faultOf('other', why)))
      return this.makeRoom(turn, step)
    }
    if (!this.isFull(history)) return
    const plan = compactionOf(history, this.#gauge(history), { tries: this.#tries(turn, step), refused: false })
    if (plan) await this.#carryOut(turn, step, plan)
  }

  /** The same, once the call was refused for its length. @throws TurnFailed when nothing is left that could go */
  async shrink(turn: number, step: number, refusal: ContextTooLong): Promise<void> {
    const { history } = this.session
    const gauge = this.#gauge(history)
    const plan = compactionOf(history, gauge, { tries: this.#tries(turn, step), refused: true })
    if (!plan) throw new TurnFailed(faultOf('other', tooLongText(refusal, gauge)))
    await this.#carryOut(turn, step, plan)
  }

  async #carryOut(turn: number, step: number, { do: deed, kept }: CompactionPlan): Promise<void> {
    const { session } = this
    if (deed === 'elide') {
      await session.append({ type: 'compacted', turn, step, kept, summary: null })
      return
    }
    const until = session.history.length - kept
    const { summary, model } = await this.#summarise(turn, session.history.slice(0, until))
    const entry: Compacted & Entry = { type: 'compacted', turn, step, kept, summary, model }
    await session.append(entry)
  }

  async #summarise(turn: number, entries: Journal): Promise<{ summary: string; model: string }> {
    const { session } = this
    const step = summaryStep(session.history, turn)
    const gauge = this.#gauge(session.history)
    for (let shrink = 0; ; shrink += 1) {
      try {
        const call = summaryCall(session.assignment, gauge, { turn, step, entries, shrink })
        const { answer } = await askModel(session, call, session.turnSignal, { silent: true })
        const summary = summaryOf(answer)
        if (summary) return { summary, model: answer.model }
        throw new TurnFailed(
          faultOf('other', 'The context is full, and the model gave no summary of the conversation.'),
        )
      } catch (error) {
        if (!(error instanceof ContextTooLong) || shrink === shrinks) throw error
      }
    }
  }

  /** Summaries that were made for this step. */
  #tries(turn: number, step: number): number {
    return this.session.history.filter(
      (entry) => entry.type === 'compacted' && entry.turn === turn && entry.step === step && entry.summary !== null,
    ).length
  }

  #gauge(journal: Journal): Gauge {
    const fixed = tokensOfText(this.#system()) + tokensOfText(JSON.stringify(this.tools.definitions))
    return gaugeOf(journal, fixed)
  }

  #system(): string {
    const { mayAct, definitions } = this.tools
    return systemPrompt(this.session.assignment, { mayAct, names: definitions.map(({ name }) => name) })
  }

  #hasTooManyBytes(journal: Journal): boolean {
    return bytesOfMessages(conversationOf(journal)) > mostBytes
  }
}

const tooLongText = ({ message }: ContextTooLong, { tokens, window }: Gauge): string =>
  `The conversation no longer fits into the model's context (about ${tokens} tokens; the model takes ${window ?? `an unknown number, taken for ${carefulWindow}`}), and can't be made smaller. ${message} Give the work in smaller pieces, or to a model with a larger context.`
