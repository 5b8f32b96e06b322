import { monotonic } from '#machine/clock.js'
import { viewOfPlan } from '#machine/files/file.view.js'
import { withoutToken } from '#machine/output/token.redaction.js'
import { SvcError } from '#sdk/errors.js'
import type { JournalEntry, ToolDefinition } from '#sdk/generated/types.js'
import { Ended, JournalMoved } from '../daemon/endings.js'
import type { NodeSession } from '../node/node.session.js'
import { askHumanTool } from './ask-human.tool.js'
import { bashTool } from './bash.tool.js'
import { ConfinedFiles } from './confined.path.js'
import { editTool } from './edit.tool.js'
import { SeenFiles } from './file.seen.js'
import { globTool } from './glob.tool.js'
import { jobsTool } from './job.tools.js'
import { listTool } from './list.tool.js'
import { messageTool } from './message.tool.js'
import { nodesTool } from './nodes.tool.js'
import { readTool } from './read.tool.js'
import { refusalText } from './refusal.text.js'
import { reportTool, submitResultTool } from './report.tool.js'
import { promoteTool, roadmapTool } from './roadmap.tool.js'
import { Searches } from './search.run.js'
import { searchTool } from './search.tool.js'
import { spawnTool } from './spawn.tool.js'
import { svcTool } from './svc.tool.js'
import { refuseUnknown } from './tool.input.js'
import { type Tool, ToolError, type ToolResult } from './tool.js'
import { waitTool, yieldTool } from './wait.tool.js'
import { writeTool } from './write.tool.js'

type Started = Extract<JournalEntry, { type: 'tool_started' }>
type ToolEnded = Extract<JournalEntry, { type: 'tool_ended' }>

export interface FinishedCall {
  readonly entry: ToolEnded
  readonly ends?: boolean
}

const mayActWith = (scopes: readonly string[]): boolean => scopes.includes('*') || scopes.includes('svc:act')

export interface CallFacts {
  /** Why its input could not be read. */
  readonly invalid?: string | undefined
  readonly repeated?: boolean
}

/** What every node has, whatever its persona says: by these its work ends and rests. */
const fixed: readonly string[] = ['report', 'submit_result', 'wait', 'yield']

/** The tool, offered as its node's persona says at the moment. */
const chosenBy =
  (session: NodeSession) =>
  (tool: Tool): Tool => ({
    ...tool,
    offered: () => {
      const chosen = session.assignment.persona?.tools
      const offered = chosen === undefined || chosen.includes(tool.name) || fixed.includes(tool.name)
      return offered && (tool.offered?.() ?? true)
    },
  })

/** The tools that a node's scopes and its work give it. */
export const toolBoxOf = (session: NodeSession): ToolBox => {
  const { cwd, result_schema, scopes } = session.assignment
  const { plan, scratch_dir } = session.serve
  const files = new ConfinedFiles(cwd, scratch_dir, viewOfPlan(plan, { cwd, readable: [scratch_dir] }))
  const seen = new SeenFiles()
  const searches = new Searches(files, session.processes, plan.hidden)
  const all = [
    bashTool(session),
    jobsTool(session),
    readTool(files, seen),
    writeTool(files, seen),
    editTool(files, seen),
    listTool(files),
    searchTool(files, searches),
    globTool(files, searches),
    svcTool(session, mayActWith(scopes)),
    spawnTool(session),
    messageTool(session),
    nodesTool(session),
    askHumanTool(session),
    waitTool(session),
    yieldTool(session),
    roadmapTool(session),
    promoteTool(session),
    reportTool(session),
    ...(result_schema ? [submitResultTool(session, result_schema)] : []),
  ]
  return new ToolBox(all.map(chosenBy(session)), {
    mayAct: mayActWith(scopes),
    files,
    token: session.serve.token,
    tell: (callId, text) => session.deltas.push('tool_output', text, callId),
  })
}

interface ToolSettings {
  readonly mayAct: boolean
  readonly files: ConfinedFiles
  /** Never stands in what a tool answers. */
  readonly token: string
  tell(callId: string, text: string): void
}

export class ToolBox {
  readonly mayAct: boolean
  /** What the node's tools reach of the machine. */
  readonly files: ConfinedFiles
  readonly #tools: ReadonlyMap<string, Tool>

  constructor(
    tools: readonly Tool[],
    private readonly settings: ToolSettings,
  ) {
    this.mayAct = settings.mayAct
    this.files = settings.files
    const allowed = tools.filter((tool) => this.mayAct || !tool.acts)
    this.#tools = new Map(allowed.map((tool) => [tool.name, tool]))
  }

  /** What the model may call at the moment. */
  get definitions(): ToolDefinition[] {
    return this.#offered().map(({ name, description, inputSchema }) => ({
      name,
      description,
      input_schema: inputSchema,
    }))
  }

  #offered(): Tool[] {
    return [...this.#tools.values()].filter((tool) => tool.offered?.() ?? true)
  }

  isRepeatable(call: Pick<Started, 'name' | 'input'>): boolean {
    return holds(this.#tools.get(call.name)?.repeatable, call)
  }

  /** Whether the call is carried out after those that were made along with it. */
  isLast(call: Pick<Started, 'name' | 'input'>): boolean {
    return holds(this.#tools.get(call.name)?.last, call)
  }

  /**
   * Carries a call out; whatever goes wrong with it is told to the model in its entry.
   *
   * @throws Ended when the daemon ends this broker meanwhile.
   */
  async run(call: Started, signal: AbortSignal, { invalid, repeated = false }: CallFacts = {}): Promise<FinishedCall> {
    const { turn, step, call_id, name } = call
    const began = monotonic()
    const {
      status = 'completed',
      output,
      images,
      exitCode,
      ends,
    } = await this.#attempt(call, signal, repeated, invalid)
    const entry: ToolEnded = {
      type: 'tool_ended',
      turn,
      step,
      call_id,
      name,
      status,
      output: withoutToken(output, this.settings.token),
      ...(images?.length && { images }),
      duration_ms: Math.round(monotonic() - began),
      ...(exitCode !== undefined && { exit_code: exitCode }),
    }
    return { entry, ...(ends && { ends }) }
  }

  async #attempt(call: Started, signal: AbortSignal, repeated: boolean, invalid?: string): Promise<ToolResult> {
    const { turn, call_id, name, input } = call
    const tool = this.#tools.get(name)
    if (!tool || tool.offered?.() === false)
      return failed(
        `There is no tool "${name}". There are: ${this.#offered()
          .map((one) => one.name)
          .join(', ')}.`,
      )
    if (invalid !== undefined)
      return failed(`The input could not be read: ${invalid}. Send a JSON object that fits the tool's schema.`)
    if (typeof input !== 'object' || input === null || Array.isArray(input))
      return failed('The input must be a JSON object.')
    if (signal.aborted) return canceled
    try {
      refuseUnknown(input as Record<string, unknown>, Object.keys(tool.inputSchema.properties as object))
      return await tool.run(input as Record<string, unknown>, {
        turn,
        callId: call_id,
        repeated,
        signal,
        tell: (text) => this.settings.tell(call_id, text),
      })
    } catch (error) {
      if (error instanceof Ended || error instanceof JournalMoved) throw error
      if (error instanceof ToolError) return failed(error.message)
      if (signal.aborted) return canceled
      if (error instanceof SvcError) return failed(refusalText(error))
      return failed(`The tool failed: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}

type ByInput = boolean | ((input: Record<string, unknown>) => boolean)

const holds = (rule: ByInput | undefined, { input }: Pick<Started, 'input'>): boolean => {
  if (typeof rule !== 'function') return rule ?? false
  return typeof input === 'object' && input !== null && rule(input as Record<string, unknown>)
}

const failed = (output: string): ToolResult => ({ status: 'failed', output })
const canceled: ToolResult = { status: 'canceled', output: '[interrupted: the call was not finished]' }
