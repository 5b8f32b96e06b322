import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { textOf } from '../support/daemon-processes.js'
import type { Expected } from './load.js'
import type { NodeRecord } from './record.js'

const linesOf = (path: string): string[] => textOf(path).split('\n').filter(Boolean)
const repeated = (values: readonly (string | number)[]): (string | number)[] =>
  values.filter((value, at) => values.indexOf(value) !== at)
const upTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1)

/**
 * What must hold for a node after everything has finished, whatever was killed: each sentence that doesn't.
 *
 * @param bought requests of this node's conversation that the provider saw
 */
export const violations = (node: Expected, record: NodeRecord | undefined, bought: number): string[] => {
  if (!record) return [`${node.tag}: the accepted node ${node.id} is missing`]
  const found = [
    ...ending(node, record),
    ...modelCalls(record, bought),
    ...toolCalls(node, record),
    ...events(node, record),
    ...generations(record),
    ...mail(node, record),
    ...jobs(node, record),
    ...worktree(node, record),
  ]
  return found.map((sentence) => `${node.tag} (${node.id}): ${sentence}`)
}

const ending = (node: Expected, { status, fault, tool_calls, reports, named }: NodeRecord): string[] => {
  const found: string[] = []
  if (named !== 1) found.push(`one creation made ${named} nodes`)
  const finals = reports.filter(({ kind }) => kind === 'final').map(({ engagement }) => engagement)
  if (repeated(finals).length) found.push('two final reports in one engagement')
  const unknown = tool_calls.some((call) => call.status === 'outcome_unknown')
  if (node.kind === 'exec' && status === 'dead') {
    if (!unknown || !fault?.message.includes('not known'))
      found.push(`dead, but its record doesn't say why: ${JSON.stringify(fault)}`)
  } else if (status !== (node.kind === 'resident' ? 'idle' : 'done')) {
    found.push(`ended ${status}: ${JSON.stringify(fault)}`)
  } else if (node.kind !== 'resident' && finals.length !== 1) {
    found.push(`done with ${finals.length} final reports`)
  }
  return found
}

const modelCalls = ({ model_calls, journal }: NodeRecord, bought: number): string[] => {
  const found: string[] = []
  if (bought > model_calls.length) found.push(`${bought} model calls bought, ${model_calls.length} attempts recorded`)
  const completed = model_calls
    .filter(({ status }) => status === 'completed')
    .map(({ turn, step }) => `${turn}.${step}`)
  if (repeated(completed).length) found.push(`steps bought twice: ${repeated(completed)}`)
  const running = model_calls.filter(({ status }) => status === 'started' || status === 'running')
  if (running.length) found.push(`model calls without an end: ${JSON.stringify(running)}`)
  const answered = journal
    .filter(({ type, payload }) => type === 'message' && payload.role === 'assistant')
    .map(({ turn, step }) => `${turn}.${step}`)
  if (repeated(answered).length) found.push(`steps recorded twice: ${repeated(answered)}`)
  const unpaid = answered.filter((step) => !completed.includes(step))
  if (unpaid.length) found.push(`answers without a recorded call: ${unpaid}`)
  return found
}

const toolCalls = (node: Expected, { journal, tool_calls }: NodeRecord): string[] => {
  const found: string[] = []
  const calls = (type: string) =>
    journal.filter((entry) => entry.type === type).map(({ turn, payload }) => `${turn}.${payload.call_id}`)
  for (const type of ['tool_started', 'tool_ended']) {
    if (repeated(calls(type)).length) found.push(`${type} twice: ${repeated(calls(type))}`)
  }
  const open = calls('tool_started').filter((call) => !calls('tool_ended').includes(call))
  if (open.length) found.push(`tool calls without an end: ${open}`)
  const lines = linesOf(node.effects)
  if (lines.includes('OVERLAP')) found.push('two of its programs ran at once')
  const strange = lines.filter((line) => line !== 'OVERLAP' && !node.tokens.includes(line))
  if (strange.length) found.push(`effects of nobody: ${strange}`)
  for (const token of node.tokens) {
    const times = lines.filter((line) => line === token).length
    const statuses = tool_calls
      .filter(({ call_id }) => node.kind === 'exec' || call_id.startsWith(token))
      .map(({ status }) => status)
    if (times > 1) found.push(`the effect ${token} happened ${times} times`)
    if (times === 1 && !statuses.length) found.push(`the effect ${token} has no record`)
    if (statuses.includes('completed') && times !== 1) found.push(`${token} is completed, but has ${times} effects`)
    const odd = statuses.filter((status) => status !== 'completed' && status !== 'outcome_unknown')
    if (odd.length) found.push(`${token} ended ${odd}`)
    if (node.kind === 'loop' && !statuses.length) found.push(`the step ${token} was left out`)
  }
  return found
}

const events = ({ watch }: Expected, { event_seq, seqs, types }: NodeRecord): string[] => {
  const wanted = upTo(event_seq).join()
  const found: string[] = []
  if (seqs.join() !== wanted) found.push(`events 1 to ${event_seq} are ${seqs}`)
  if (watch.seqs.join() !== wanted) found.push(`the watcher of events 1 to ${event_seq} saw ${watch.seqs}`)
  if (watch.settledAt !== undefined && watch.settledAt < event_seq)
    found.push(
      `its stream ended for good at event ${watch.settledAt} of ${event_seq}: ${types.slice(watch.settledAt - 3)}`,
    )
  return found
}

/** A generation is bound by one process, and what it writes ends where its successor's begins. */
const generations = ({ bound, journal }: NodeRecord): string[] => {
  const found: string[] = []
  const order = bound.map(({ generation }) => generation)
  if (repeated(order).length) found.push(`generations bound twice: ${repeated(order)}`)
  if (order.some((generation, at) => at > 0 && generation < (order[at - 1] as number)))
    found.push(`generations bound in the order ${order}`)
  const writers = journal.map(({ generation }) => generation)
  if (writers.some((generation, at) => at > 0 && generation < (writers[at - 1] as number)))
    found.push(`the journal was written by generations ${writers}`)
  const ords = journal.map(({ ord }) => ord)
  if (ords.join() !== upTo(ords.length).join()) found.push(`the journal has positions ${ords}`)
  return found
}

const mail = ({ messages }: Expected, record: NodeRecord): string[] => {
  const found: string[] = []
  for (const message of messages) {
    const times = record.mail.filter(({ body }) => body === message).length
    if (times !== 1) found.push(`${message} was accepted ${times} times`)
  }
  // The end of a job waits for a program's next mail.
  const unread = record.mail.filter(({ acknowledged, kind }) => !acknowledged && kind !== 'notice')
  if (unread.length && record.status !== 'dead') found.push(`unread mail: ${unread.map(({ body }) => body)}`)
  const taken = record.journal.flatMap(({ payload }) => payload.mail ?? [])
  if (repeated(taken).length) found.push(`mail taken into two turns: ${repeated(taken)}`)
  return found
}

/** A job runs once or is said to be lost; its beginning and its end are told once. */
const jobs = ({ job, effects }: Expected, record: NodeRecord): string[] => {
  const found: string[] = []
  if (record.jobs.length !== (job === undefined ? 0 : 1)) found.push(`it has ${record.jobs.length} jobs`)
  const times = linesOf(`${effects}.job`).filter((line) => line === job).length
  if (linesOf(`${effects}.job`).includes('OVERLAP')) found.push('its job ran twice at once')
  if (times > 1) found.push(`its job ran ${times} times`)
  for (const { id, status, exit_code, started, ended } of record.jobs) {
    if (started !== 1 || ended !== 1) found.push(`${id} was told to start ${started} and to end ${ended} times`)
    if (status === 'exited' ? exit_code !== 0 || times !== 1 : status !== 'lost')
      found.push(`${id} is ${status} with exit code ${exit_code} and ${times} effects`)
  }
  return found
}

const worktree = ({ repository }: Expected, record: NodeRecord): string[] => {
  if (repository === undefined) return record.worktree ? ['it has a worktree that nobody asked for'] : []
  const { path = '', state } = record.worktree ?? {}
  if (state !== 'open' || !existsSync(join(path, '.git'))) return [`its worktree is ${state}: ${path}`]
  const listed = execFileSync('git', ['-C', repository, 'worktree', 'list', '--porcelain'], { encoding: 'utf8' })
  const trees = listed.split('\n').filter((line) => line === `worktree ${path}`).length
  return trees === 1 ? [] : [`its repository knows ${trees} worktrees at ${path}`]
}
