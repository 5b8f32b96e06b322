import { join } from 'node:path'
import { after } from '#machine/clock.js'
import { OutputCapture } from '#machine/output/output.capture.js'
import type { ToolCommand, ToolEnd, ToolProcess } from '../process/tool-process.js'
import type { ToolResult, ToolRun } from './tool.js'

/** What the model is shown; the whole, up to 32 MiB, goes into a file that read can open. */
const limits = { head: 8000, tail: 22_000, fileLimit: 32 * 1024 * 1024 }

interface ProgramEnd extends ToolEnd {
  /** Standard output and error together, as they came; its middle left out where it is long. */
  readonly output: string
  /** Why it was ended before its time. */
  readonly cut: 'timeout' | 'abort' | undefined
}

interface ProgramLimits {
  /** Ms; then it is ended with all that it started. */
  readonly timeout: number
  /** Where the whole of a long output is kept, for who can read it there. */
  readonly directory?: string
}

/** Runs one program for a call to its end, or to the end of its time; its output is shown as it comes. */
export const runProgram = async (
  start: (command: ToolCommand) => ToolProcess,
  command: Omit<ToolCommand, 'input' | 'onStdout' | 'onStderr'>,
  { turn, callId, signal, tell }: ToolRun,
  { timeout, directory }: ProgramLimits,
): Promise<ProgramEnd> => {
  const name = `${turn}-${callId.replace(/[^\w-]/g, '_').slice(0, 80)}.log`
  const capture = new OutputCapture({ ...limits, ...(directory !== undefined && { file: join(directory, name) }) })
  const hearing = (): ((chunk: Buffer) => void) => {
    const decoder = new TextDecoder()
    return (chunk) => {
      capture.add(chunk)
      tell(decoder.decode(chunk, { stream: true }))
    }
  }
  const running = start({ ...command, input: false, onStdout: hearing(), onStderr: hearing() })
  let cut: ProgramEnd['cut']
  const kill = (why: 'timeout' | 'abort'): void => {
    cut ??= why
    void running.kill()
  }
  const abort = (): void => kill('abort')
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  const callOff = after(timeout, () => kill('timeout'))
  const end = await running.ended
  callOff()
  signal.removeEventListener('abort', abort)
  // What it left in the background ends with it, where no sandbox ends that too.
  await running.kill(0)
  capture.close()
  return { ...end, output: capture.text().trimEnd(), cut }
}

/**
 * What the model is told of a program that was started. A non-zero exit code is a value, not an error.
 *
 * @param instead what to do about one that takes longer than its time
 */
export const resultOfProgram = (
  { output, code, signal, cut }: ProgramEnd,
  { timeout, instead }: { timeout: number; instead: string },
): ToolResult => {
  const said = output ? `${output}\n` : ''
  if (cut === 'abort')
    return { status: 'canceled', output: `${said}[interrupted: the command was ended]`, exitCode: code }
  if (cut === 'timeout') {
    const ended = `[ended after ${timeout / 1000} s, with all it started: ${instead}]`
    return { status: 'failed', output: said + ended, exitCode: code }
  }
  if (signal) return { output: `${said}[ended by ${signal}]`, exitCode: code }
  return { output: code === 0 ? output || '[no output; exit code 0]' : `${said}[exit code ${code}]`, exitCode: code }
}
