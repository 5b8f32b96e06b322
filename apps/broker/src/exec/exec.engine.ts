import { statSync } from 'node:fs'
import { monotonic } from '#machine/clock.js'
import type { ExecSpec, MailEntry, Outcome } from '#sdk/generated/types.js'
import type { Entry, Next } from '../daemon/journal.client.js'
import { faultOf } from '../node/fault.js'
import { mailPart } from '../node/mail.text.js'
import type { NodeEngine } from '../node/node.engine.js'
import { Interrupted, type NodeSession } from '../node/node.session.js'
import { hasReport, reportsOf } from '../node/own.reports.js'
import type { OpenTurn } from '../node/turn.state.js'
import { toolEnvironment } from '../process/tool-environment.js'
import type { ToolEnd, ToolProcess } from '../process/tool-process.js'
import { firstInput, mailLine } from './exec.input.js'
import { ExecRecord } from './exec.record.js'

const step = 1
const name = 'exec'
type Ended = Extract<Entry, { type: 'tool_ended' }>
type TurnEnded = Extract<Entry, { type: 'turn_ended' }>

/** Runs a program of the caller's: one run a turn. A run whose end nobody saw is never repeated by itself. */
export class ExecEngine implements NodeEngine {
  readonly #spec: ExecSpec
  /** Reports of earlier runs, which a resident's present one has no part in. */
  readonly #earlier = new Set<string>()

  constructor(private readonly session: NodeSession) {
    const { exec } = session.assignment
    if (!exec) throw new Error('a node of the engine exec has no program')
    this.#spec = exec
  }

  async run(turn: number, mail: readonly MailEntry[]): Promise<Next> {
    const { session } = this
    const call_id = `exec-${turn}`
    await session.append(
      { type: 'turn_started', turn, mail: mail.map(({ id }) => id), content: mail.map(mailPart) },
      {
        type: 'tool_started',
        turn,
        step,
        call_id,
        name,
        input: { argv: this.#spec.argv, cwd: session.assignment.cwd },
      },
    )
    if (session.assignment.lifecycle === 'resident') {
      for await (const { id } of reportsOf(session.daemon)) this.#earlier.add(id)
    }
    session.deltas.begin()
    const record = new ExecRecord((channel, text) => session.deltas.push(channel, text, call_id))
    const began = monotonic()
    const end = await this.#execute(turn, mail as [MailEntry, ...MailEntry[]], record)
    const ended = (status: Ended['status'], output: string): Ended => ({
      type: 'tool_ended',
      turn,
      step,
      call_id,
      name,
      status,
      output,
      exit_code: end.code,
      duration_ms: Math.round(monotonic() - began),
    })
    if (session.ended.aborted) throw session.ended.reason
    if (session.turnSignal.reason instanceof Interrupted) {
      return session.append(ended('canceled', record.output), { type: 'turn_ended', turn, status: 'interrupted' })
    }
    if (end.refusal) {
      const why = this.#refusal(end.refusal)
      return session.append(ended('failed', why), failed(turn, why))
    }
    if (end.code !== 0) return session.append(ended('failed', record.output), failed(turn, record.failure(end)))
    return session.append(ended('completed', record.output), await this.#completed(turn, record))
  }

  resume({ turn, dangling }: OpenTurn): Promise<Next> {
    const why =
      'The process that hosted this program was lost while it ran, and the program was ended with it. How far it came is ' +
      'not known; it is not run again by itself. Send the node a message to run it again.'
    return this.session.append(
      ...dangling.map(
        ({ call_id, step }): Ended => ({
          type: 'tool_ended',
          turn,
          step,
          call_id,
          name,
          status: 'outcome_unknown',
          output: why,
          exit_code: null,
        }),
      ),
      failed(turn, why),
    )
  }

  async #execute(turn: number, mail: readonly [MailEntry, ...MailEntry[]], record: ExecRecord): Promise<ToolEnd> {
    const { assignment, processes, serve, turnSignal } = this.session
    const refusal = directoryRefusal(assignment.cwd)
    if (refusal) return { code: null, signal: null, refusal }
    const program = processes.start({
      argv: this.#spec.argv as [string, ...string[]],
      cwd: assignment.cwd,
      env: toolEnvironment(serve, this.#spec.env),
      input: true,
      onStdout: (chunk) => record.add('stdout', chunk),
      onStderr: (chunk) => record.add('stderr', chunk),
    })
    const kill = (): void => void program.kill()
    if (turnSignal.aborted) kill()
    turnSignal.addEventListener('abort', kill, { once: true })
    program.write(firstInput(this.#spec.stdin, mail))
    if (this.#spec.stdin === 'text') program.closeInput()
    const running = new AbortController()
    const feeding = this.#spec.stdin === 'text' ? undefined : this.#feed(turn, program, running.signal)
    const end = await program.ended
    running.abort()
    await feeding
    turnSignal.removeEventListener('abort', kill)
    // What it left in the background belongs to the run that is over.
    await program.kill()
    return end
  }

  /** Mail that comes while the program runs is written to it, and is in the record before that. */
  async #feed(turn: number, program: ToolProcess, running: AbortSignal): Promise<void> {
    const { session } = this
    const over = new Promise<'over'>((resolve) =>
      running.addEventListener('abort', () => resolve('over'), { once: true }),
    )
    try {
      for (;;) {
        const announced = session.mailAnnounced()
        announced.catch(() => undefined)
        if ((await Promise.race([announced, over])) === 'over') return
        for (let mail = await session.mailbox.take(); mail.length; mail = await session.mailbox.take()) {
          if (running.aborted) return session.mailbox.putBack(mail)
          await session.append({ type: 'message', turn, step, role: 'user', content: mail.map(mailPart) })
          await session.mailbox.acknowledge(mail)
          program.write(mail.map(mailLine).join(''))
        }
      }
    } catch (error) {
      // The daemon refused: this broker's end, or a journal that moved, which the next append meets as well.
      session.end(error as Error)
    }
  }

  async #completed(turn: number, record: ExecRecord): Promise<TurnEnded> {
    const { assignment, daemon } = this.session
    if (assignment.result_schema) {
      const outcome = await daemon.get<Outcome>('outcome')
      if (outcome.result === undefined) {
        return failed(
          turn,
          'The program ended with exit code 0, but without submitting the result that this node owes.',
        )
      }
    }
    const done = { type: 'turn_ended', turn, status: 'completed' } as const
    return (await this.#reported()) ? done : { ...done, final: record.report }
  }

  /** Whether the program pushed a report itself: its last one then counts as the final one. */
  #reported(): Promise<boolean> {
    const { assignment, daemon } = this.session
    return hasReport(daemon, ({ id, engagement }) => engagement >= assignment.engagement && !this.#earlier.has(id))
  }

  #refusal(error: NodeJS.ErrnoException): string {
    const program = this.#spec.argv[0]?.slice(0, 200)
    const { cwd } = this.session.assignment
    if (error.syscall === 'cwd') return `The working directory ${cwd} can't be entered: ${error.message}`
    if (error.syscall === 'sandbox') return `The program "${program}" could not be started: ${error.message}`
    switch (error.code) {
      case 'ENOENT':
        return `The program "${program}" was not found: give an absolute path, or a name that stands in PATH.`
      case 'EACCES':
        return `The program "${program}" can't be executed: permission denied.`
      default:
        return `The program "${program}" could not be started: ${error.message}`
    }
  }
}

const failed = (turn: number, why: string): TurnEnded => ({
  type: 'turn_ended',
  turn,
  status: 'failed',
  fault: faultOf('other', why),
})

/** Said apart, since a missing directory and a missing program are the same error to the system. */
const directoryRefusal = (cwd: string): NodeJS.ErrnoException | undefined => {
  try {
    if (statSync(cwd).isDirectory()) return undefined
    return Object.assign(new Error('it is not a directory'), { syscall: 'cwd' })
  } catch (error) {
    return Object.assign(
      new Error((error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it does not exist' : (error as Error).message),
      { syscall: 'cwd' },
    )
  }
}
