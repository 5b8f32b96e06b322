import { join } from 'node:path'
import { after } from '#machine/clock.js'
import { OutputCapture } from '#machine/output/output.capture.js'
import type { NodeSession } from '../node/node.session.js'
import { toolEnvironment } from '../process/tool-environment.js'
import { startInBackground } from './job.tools.js'
import { flagOf, textOf, wholeOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError, type ToolResult } from './tool.js'

const defaultTimeout = 120
const longestTimeout = 600
/** What the model is shown; the whole, up to 32 MiB, goes into a file that read can open. */
const limits = { head: 8000, tail: 22_000, fileLimit: 32 * 1024 * 1024 }

/** What a model's shell command did. A non-zero exit code is a value, not an error. */
export const bashTool = (session: NodeSession): Tool => ({
  name: 'bash',
  description: `Runs a command with bash in the working directory and answers its output (standard output and standard error together) and its exit code. Each call is a new shell; what it leaves in the background ends with it. It is ended with all it started after \`timeout\` seconds (${defaultTimeout} unless given, at most ${longestTimeout}). Long output is shown by its beginning and end; the whole is kept in a file. With \`background\` it becomes a job: the call answers at once, the command goes on beside your work, and you are told of its end; for servers, watchers and long builds.`,
  inputSchema: schemaOf(
    {
      command: { type: 'string', description: 'What bash is to run' },
      timeout: { type: 'integer', minimum: 1, maximum: longestTimeout, description: 'Seconds' },
      background: { type: 'boolean', description: 'Start it as a job and answer at once; no timeout' },
    },
    ['command'],
  ),
  acts: true,
  async run(input, call): Promise<ToolResult> {
    const { assignment, serve, processes } = session
    const { turn, callId, signal, tell } = call
    const command = textOf(input, 'command')
    if (!command.trim()) throw new ToolError('"command" is empty.')
    if (command.includes('\0')) throw new ToolError('"command" holds a zero byte.')
    if (flagOf(input, 'background')) {
      if (input.timeout !== undefined && input.timeout !== null) {
        throw new ToolError('A job has no "timeout": it runs until it ends, or until you cancel it with jobs.')
      }
      return startInBackground(session, command, call)
    }
    const timeout = wholeOf(input, 'timeout', { min: 1, max: longestTimeout, whenAbsent: defaultTimeout })
    const capture = new OutputCapture({
      ...limits,
      file: join(serve.scratch_dir, `${turn}-${callId.replace(/[^\w-]/g, '_').slice(0, 80)}.log`),
    })
    const hearing = (): ((chunk: Buffer) => void) => {
      const decoder = new TextDecoder()
      return (chunk) => {
        capture.add(chunk)
        tell(decoder.decode(chunk, { stream: true }))
      }
    }
    const shell = processes.start({
      argv: ['bash', '-c', command],
      cwd: assignment.cwd,
      env: toolEnvironment(serve),
      input: false,
      onStdout: hearing(),
      onStderr: hearing(),
    })
    let cut: 'timeout' | 'abort' | undefined
    const kill = (why: 'timeout' | 'abort'): void => {
      cut ??= why
      void shell.kill()
    }
    const abort = (): void => kill('abort')
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    const callOff = after(timeout * 1000, () => kill('timeout'))
    const end = await shell.ended
    callOff()
    signal.removeEventListener('abort', abort)
    // Where no sandbox ends it, too: what goes on after a call is a job.
    await shell.kill(0)
    capture.close()
    if (end.refusal) throw new ToolError(refusalOf(end.refusal, assignment.cwd))
    return { ...resultOf(capture.text(), end, cut, timeout), exitCode: end.code }
  },
})

const refusalOf = ({ code, message }: NodeJS.ErrnoException, cwd: string): string =>
  code === 'E2BIG'
    ? 'The command is longer than the system takes: put it into a file with write, and run that.'
    : `bash could not be started in ${cwd}: ${message}`

const resultOf = (
  output: string,
  { code, signal }: { code: number | null; signal: string | null },
  cut: 'timeout' | 'abort' | undefined,
  timeout: number,
): ToolResult => {
  const text = output.trimEnd()
  const said = text ? `${text}\n` : ''
  if (cut === 'abort') return { status: 'canceled', output: `${said}[interrupted: the command was ended]` }
  if (cut === 'timeout') {
    return {
      status: 'failed',
      output: `${said}[ended after ${timeout} s, with all it started: give a longer timeout, or start it with "background": true]`,
    }
  }
  if (signal) return { output: `${said}[ended by ${signal}]` }
  return { output: code === 0 ? text || '[no output; exit code 0]' : `${said}[exit code ${code}]` }
}
