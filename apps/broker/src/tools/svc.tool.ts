import type { NodeSession } from '../node/node.session.js'
import { toolEnvironment } from '../process/tool-environment.js'
import type { ToolCommand } from '../process/tool-process.js'
import { type ProgramEnd, runProgram } from './program.run.js'
import { argumentsOf } from './svc.arguments.js'
import { wholeOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError, type ToolResult } from './tool.js'

const defaultTimeout = 120
const longestTimeout = 600

const resultOf = ({ output, code, signal, cut, refusal }: ProgramEnd, timeout: number): ToolResult => {
  if (refusal) throw new ToolError(`svc could not be started: ${refusal.message}`)
  const said = output ? `${output}\n` : ''
  if (cut === 'abort') return { status: 'canceled', output: `${said}[interrupted: svc was ended]` }
  if (cut === 'timeout') return { status: 'failed', output: `${said}[ended after ${timeout} s: give a longer timeout]` }
  if (signal) return { output: `${said}[ended by ${signal}]` }
  return { output: code === 0 ? output || '[no output; exit code 0]' : `${said}[exit code ${code}]`, exitCode: code }
}

/**
 * The `svc` command by itself, without a shell, for nodes that may not act too: what it does is gated by the node's scopes
 * at the daemon. Of the machine's files it then sees none of the person's.
 */
export const svcTool = ({ assignment, serve, processes }: NodeSession, mayAct: boolean): Tool => ({
  name: 'svc',
  description: `Runs the command \`svc\`, which speaks to the daemon that hosts you: nodes, reports, and all else your scopes allow. No shell: each argument is one entry of \`args\`. ["--help"] lists the commands, ["node", "--help"] those of a group.`,
  inputSchema: schemaOf(
    {
      args: { type: 'array', items: { type: 'string' }, description: 'For example ["node", "list", "--json"]' },
      timeout: {
        type: 'integer',
        minimum: 1,
        maximum: longestTimeout,
        description: `Seconds; ${defaultTimeout} unless given`,
      },
    },
    ['args'],
  ),
  acts: false,
  async run(input, call) {
    const args = argumentsOf(input)
    const timeout = wholeOf(input, 'timeout', { min: 1, max: longestTimeout, whenAbsent: defaultTimeout })
    const { plan } = serve
    const own = plan.level === 'bubblewrap' ? plan.homeAt : plan.home
    const place = mayAct
      ? { cwd: assignment.cwd, env: toolEnvironment(serve), plan }
      : { cwd: own, env: { ...toolEnvironment(serve), SVC_NO_FILES: '1' }, plan: { ...plan, mounts: [], frozen: [] } }
    const start = (command: ToolCommand) => processes.start(command, place.plan)
    const command = { argv: ['svc', ...args] as [string, ...string[]], cwd: place.cwd, env: place.env }
    const limits = { timeout: timeout * 1000, ...(mayAct && { directory: serve.scratch_dir }) }
    return resultOf(await runProgram(start, command, call, limits), timeout)
  },
})
