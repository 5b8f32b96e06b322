import type { NodeSession } from '../node/node.session.js'
import { toolEnvironment } from '../process/tool-environment.js'
import { startInBackground } from './job.tools.js'
import { resultOfProgram, runProgram } from './program.run.js'
import { flagOf, textOf, wholeOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError, type ToolResult } from './tool.js'

const defaultTimeout = 120
const longestTimeout = 600

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
  // A job is started once for one call: by its key.
  repeatable: ({ background }) => background === true || background === 'true',
  async run(input, call): Promise<ToolResult> {
    const { assignment, serve, processes } = session
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
    const end = await runProgram(
      (program) => processes.start(program),
      { argv: ['bash', '-c', command], cwd: assignment.cwd, env: toolEnvironment(serve) },
      call,
      { timeout: timeout * 1000, directory: serve.scratch_dir },
    )
    if (end.refusal) throw new ToolError(refusalOf(end.refusal, assignment.cwd))
    return resultOfProgram(end, {
      timeout: timeout * 1000,
      instead: 'give a longer timeout, or start it with "background": true',
    })
  },
})

const refusalOf = ({ code, message }: NodeJS.ErrnoException, cwd: string): string =>
  code === 'E2BIG'
    ? 'The command is longer than the system takes: put it into a file with write, and run that.'
    : `bash could not be started in ${cwd}: ${message}`
