import type { MockModel } from '#common/testing/mock-model.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { TestDaemon } from '../support/daemon.js'
import { carryOut, type Fault } from './fault.js'
import { violations } from './invariants.js'
import { type Expected, startLoad } from './load.js'
import { LoneBrokerCheck } from './lone-broker.js'
import type { Random } from './random.js'
import { readRecords } from './record.js'

/** ms that everything may take to finish once the fault is over: a launch that nobody heard of is found again in 20 s. */
const finishWithin = 75_000

export interface RoundOptions {
  daemon: TestDaemon
  mock: MockModel
  round: number
  random: Random
  faults: readonly Fault[]
}

export interface RoundResult {
  violations: string[]
  nodes: number
  died: number
  events: number
  /** Streams that had to be opened again. */
  resumed: number
  modelCalls: number
  unknownModelCalls: number
  toolCalls: number
  unknownToolCalls: number
}

/** Load, a fault in the middle of it, the end of all of it, and a look at everything that must hold. */
export const runRound = async (options: RoundOptions): Promise<RoundResult> => {
  const { daemon, mock } = options
  const nodes: Expected[] = []
  const lone = new LoneBrokerCheck(daemon.processes)
  mock.reset()
  try {
    const load = startLoad({ ...options, onNode: (node) => nodes.push(node) })
    const outcomes = await Promise.allSettled([load, inTurn(daemon, options.faults)])
    const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))
    const late = await finished(daemon, nodes)
    return await look(options, nodes, [...failures, ...late, ...lone.violations])
  } finally {
    await Promise.all([lone.stop(), ...nodes.map(({ watch }) => watch.stop())])
  }
}

const inTurn = async (daemon: TestDaemon, faults: readonly Fault[]): Promise<void> => {
  for (const fault of faults) await carryOut(daemon, fault)
}

const finished = async (daemon: TestDaemon, nodes: readonly Expected[]): Promise<string[]> => {
  const ids = nodes.map(({ id }) => id)
  const settled = async (): Promise<boolean> => {
    const database = await daemon.database()
    try {
      const records = [...(await readRecords(database, ids)).values()]
      return records.every(
        ({ status, mail, tool_calls, jobs }) =>
          tool_calls.every((call) => call.status !== 'started') &&
          jobs.every((job) => job.status !== 'running') &&
          (/done|dead/.test(status) || (status === 'idle' && mail.every((one) => one.acknowledged))),
      )
    } finally {
      await database.close()
    }
  }
  try {
    await waitFor(settled, { timeout: finishWithin, interval: 50, what: 'the end of all nodes' })
    await waitFor(() => noTools(daemon, ids), { timeout: 10_000, interval: 50, what: 'the end of all tools' })
    return []
  } catch (error) {
    return [String(error)]
  }
}

const noTools = (daemon: TestDaemon, ids: readonly string[]): boolean => {
  const tools = daemon.processes.toolsByNode()
  return ids.every((id) => !tools.has(id))
}

const look = async (
  { daemon, mock }: RoundOptions,
  nodes: readonly Expected[],
  before: string[],
): Promise<RoundResult> => {
  const database = await daemon.database()
  const records = await readRecords(
    database,
    nodes.map(({ id }) => id),
  ).finally(() => database.close())
  const late = await Promise.allSettled(
    nodes.map(({ id, watch }) => watch.until(records.get(id)?.event_seq ?? 0, 30_000)),
  )
  const requests = mock.requests().map(({ body }) => JSON.stringify(body))
  const bought = (tag: string): number => requests.filter((text) => text.includes(`<${tag}>`)).length
  const found = nodes.flatMap((node) => violations(node, records.get(node.id), bought(node.tag)))
  const all = [...records.values()]
  const modelCalls = all.flatMap(({ model_calls }) => model_calls)
  const toolCalls = all.flatMap(({ tool_calls }) => tool_calls)
  const unknown = (calls: readonly { status: string }[]) =>
    calls.filter(({ status }) => status === 'outcome_unknown').length
  return {
    violations: [
      ...before,
      ...found,
      ...late.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : [])),
    ],
    nodes: nodes.length,
    died: all.filter(({ status }) => status === 'dead').length,
    events: nodes.reduce((sum, { watch }) => sum + watch.events.length, 0),
    resumed: nodes.reduce((sum, { watch }) => sum + watch.resumptions, 0),
    modelCalls: modelCalls.length,
    unknownModelCalls: unknown(modelCalls),
    toolCalls: toolCalls.length,
    unknownToolCalls: unknown(toolCalls),
  }
}
