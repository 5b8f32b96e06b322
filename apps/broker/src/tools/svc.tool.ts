import type { NodeSession } from '../node/node.session.js'
import { toolEnvironment } from '../process/tool-environment.js'
import type { ToolCommand } from '../process/tool-process.js'
import { resultOfProgram, runProgram } from './program.run.js'
import { argumentsOf } from './svc.arguments.js'
import { wholeOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

const defaultTimeout = 120
const longestTimeout = 600

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
    const end = await runProgram(start, command, call, limits)
    if (end.refusal) throw new ToolError(`svc could not be started: ${end.refusal.message}`)
    return resultOfProgram(end, { timeout: limits.timeout, instead: 'give a longer timeout' })
  },
})
