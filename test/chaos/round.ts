import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { MockModel } from '#common/testing/mock-model.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { TestDaemon } from '../support/daemon.js'
import type { TcpProxy } from '../support/tcp-proxy.js'
import { canvasStream, canvasViolations, lostMessages, treeStream, unrest } from './canvas.look.js'
import { carryOut, type Fault } from './fault.js'
import { violations } from './invariants.js'
import { type Expected, startLoad } from './load.js'
import { LoneBrokerCheck } from './lone-broker.js'
import type { Random } from './random.js'
import { type NodeRecord, readRecords } from './record.js'
import { type Check, Ledger } from './stage.js'
import { tell } from './story.run.js'
import type { StreamWatch } from './stream-watch.js'

/** ms that everything may take to finish once the fault is over: a launch that nobody heard of is found again in 20 s. */
const finishWithin = 150_000

export interface RoundOptions {
  daemon: TestDaemon
  /** Before the daemon: the way of clients and brokers to it. */
  edge: TcpProxy
  baseUrl: string
  mock: MockModel
  seed: number
  round: number
  random: Random
  faults: readonly Fault[]
  stories: readonly string[]
  /** One who reads the events of all nodes, from the first round on. */
  canvas: StreamWatch
}

export interface RoundResult {
  violations: string[]
  nodes: number
  died: number
  messages: number
  events: number
  /** Streams that had to be opened again. */
  resumed: number
  modelCalls: number
  unknownModelCalls: number
  toolCalls: number
  unknownToolCalls: number
}

/** What runs in a round, and what its clients know of it. */
interface Cast {
  readonly nodes: Expected[]
  readonly ledger: Ledger
  readonly checks: Check[]
}

/** Load, a fault in the middle of it, the end of all of it, and a look at everything that must hold. */
export const runRound = async (options: RoundOptions): Promise<RoundResult> => {
  const { daemon, edge, mock, round } = options
  const cast: Cast = { nodes: [], ledger: new Ledger(), checks: [] }
  const lone = new LoneBrokerCheck(daemon.processes)
  const directory = join(daemon.workDir, `round-${round}`)
  mkdirSync(directory)
  mock.reset()
  try {
    const load = startLoad({ ...options, directory, onNode: (node) => cast.nodes.push(node) })
    const told = options.stories.map(async (name) =>
      cast.checks.push(await tell(name, { ...options, directory, ledger: cast.ledger })),
    )
    const blows = inTurn(daemon, edge, options.faults)
    const outcomes = await Promise.allSettled([load, blows, ...told])
    const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))
    const late = await finished(daemon)
    return await look(options, cast, [...failures, ...late, ...lone.violations])
  } finally {
    await Promise.all([lone.stop(), cast.ledger.stop(), ...cast.nodes.map(({ watch }) => watch.stop())])
  }
}

const inTurn = async (daemon: TestDaemon, edge: TcpProxy, faults: readonly Fault[]): Promise<void> => {
  for (const fault of faults) await carryOut(daemon, edge, fault)
}

const finished = async (daemon: TestDaemon): Promise<string[]> => {
  const settled = async (): Promise<boolean> => {
    const database = await daemon.database()
    try {
      return (await unrest(database)).length === 0
    } finally {
      await database.close()
    }
  }
  try {
    await waitFor(settled, { timeout: finishWithin, interval: 200, what: 'the end of all nodes' })
    await waitFor(() => daemon.processes.toolsByNode().size === 0, {
      timeout: 20_000,
      interval: 50,
      what: 'the end of all tools',
    })
    return []
  } catch (error) {
    return [String(error)]
  }
}

const look = async (options: RoundOptions, cast: Cast, before: string[]): Promise<RoundResult> => {
  const { daemon, mock, canvas } = options
  const { nodes, ledger, checks } = cast
  const database = await daemon.database()
  try {
    const all = await database.rows<{ id: string }>('SELECT id FROM canvas.nodes WHERE name LIKE $1', [
      `r${options.round}-%`,
    ])
    const records = await readRecords(
      database,
      all.map(({ id }) => id),
    )
    const watched = [...nodes, ...ledger.nodes]
    const late = await Promise.allSettled(
      watched.map(({ id, watch }) => watch.until(records.get(id)?.event_seq ?? 0, 30_000)),
    )
    const requests = mock.requests().map(({ body }) => JSON.stringify(body))
    const bought = (tag: string): number => requests.filter((text) => text.includes(`<${tag}>`)).length
    const trees: string[] = []
    for (const tree of ledger.trees) trees.push(...(await treeStream(database, tree)))
    const found = [
      ...before,
      ...nodes.flatMap((node) => violations(node, records.get(node.id), bought(node.tag))),
      ...late.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : [])),
      ...ledger.nodes.flatMap(({ id, watch }) => watchedWhole(id, watch.seqs, records.get(id)?.event_seq ?? 0)),
      ...trees,
      ...(await canvasViolations(database)),
      ...(await canvasStream(database, canvas)),
      ...(await lostMessages(database, ledger.messages)),
      ...(await Promise.all(checks.map((check) => check().catch((error) => [String(error)])))).flat(),
    ]
    return { violations: found, ...figures([...records.values()], cast) }
  } finally {
    await database.close()
  }
}

const watchedWhole = (id: string, seqs: readonly number[], last: number): string[] =>
  seqs.length === last && seqs.every((seq, at) => seq === at + 1)
    ? []
    : [`the watcher of events 1 to ${last} of ${id} saw ${seqs}`]

type Records = readonly NodeRecord[]

const figures = (all: Records, { nodes, ledger }: Cast): Omit<RoundResult, 'violations'> => {
  const modelCalls = all.flatMap(({ model_calls }) => model_calls)
  const toolCalls = all.flatMap(({ tool_calls }) => tool_calls)
  const unknown = (calls: readonly { status: string }[]) =>
    calls.filter(({ status }) => status === 'outcome_unknown').length
  const watches = [...nodes, ...ledger.nodes].map(({ watch }) => watch)
  const trees = ledger.trees.map(({ watch }) => watch)
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  return {
    nodes: all.length,
    died: all.filter(({ status }) => status === 'dead').length,
    messages: ledger.messages.length + sum(nodes.map(({ messages }) => messages.length)),
    events: sum(watches.map(({ events }) => events.length)) + sum(trees.map(({ seen }) => seen.length)),
    resumed: sum([...watches, ...trees].map(({ resumptions }) => resumptions)),
    modelCalls: modelCalls.length,
    unknownModelCalls: unknown(modelCalls),
    toolCalls: toolCalls.length,
    unknownToolCalls: unknown(toolCalls),
  }
}
