import type { LedgerEntry } from '#common/contract/ledger.operations.js'
import { responseText } from '../human/answer.text.js'
import { briefCommand } from '../job/job.text.js'
import type { LaunchCause } from './launch.cause.js'
import type { ExpiredRow, FaultRow, JobRow, LaunchRow, RelaunchRow, UnheardRow, WaitRow } from './ledger.repository.js'

/** Characters of a message at most: a page of entries is one answer on the bus. */
const longest = 1000

type Action = LedgerEntry['action']

const onNode = (id: string, verb: string, command: string): Action => ({
  method: 'POST',
  path: `/v1/nodes/${id}/${verb}`,
  command,
})
const revive = (id: string): Action => onNode(id, 'revive', `svc node revive ${id}`)
const retry = (id: string): Action => onNode(id, 'retry', `svc node retry ${id}`)
const message = (id: string): Action => onNode(id, 'message', `svc node message ${id} -`)
const startJob = (id: string): Action => onNode(id, 'jobs', `svc node job-start ${id} -- <command>`)
const relaunch = (id: string): Action => onNode(id, 'relaunch-root', `svc node relaunch ${id}`)

type Told = Pick<LedgerEntry, 'kind' | 'state' | 'cause' | 'message' | 'action'> & {
  readonly planned: Date
  readonly happened?: Date | null
  readonly requestId?: string
}

interface Place {
  readonly at: Date
  readonly id: string
  readonly node_id: string | null
  readonly name: string | null
  readonly app_id: string | null
}

const entry = ({ at, id, node_id, name, app_id }: Place, told: Told): LedgerEntry => {
  const { planned, happened = null, requestId = null, ...rest } = told
  return {
    id,
    ...rest,
    message: rest.message.length > longest ? `${rest.message.slice(0, longest - 1)}…` : rest.message,
    at: at.toISOString(),
    planned_at: planned.toISOString(),
    happened_at: happened?.toISOString() ?? null,
    lateness_ms: happened === null ? null : happened.getTime() - planned.getTime(),
    count: 1,
    cron_id: null,
    node_id,
    request_id: requestId,
    object_id: null,
    name,
    app_id,
  }
}

export const faultEntry = (row: FaultRow): LedgerEntry => {
  const { ended_at, kind: cause, node_id, since: planned, status } = row
  const told = { kind: isOfProcess(cause) ? ('launch' as const) : ('resume' as const), cause, planned }
  if (ended_at !== null) {
    const tries = row.tries > 1 ? ` (${row.tries} failures)` : ''
    const text = `It could not go on for ${lasted(ended_at.getTime() - planned.getTime())}${tries}: ${row.message}`
    return entry(row, { ...told, state: 'late', message: text, happened: ended_at, action: null })
  }
  if (status === 'dead') {
    const text = `It ended as dead, its work undone: ${row.message}`
    return entry(row, { ...told, state: 'failed', message: text, action: revive(node_id) })
  }
  return entry(row, { ...told, state: 'waiting', message: `${awaited(row)}: ${row.message}`, action: retry(node_id) })
}

const isOfProcess = (kind: FaultRow['kind']): boolean => kind === 'crash_loop' || kind === 'other'

/** What a held node is held for; the message of the fault follows. */
const awaited = ({ fault }: FaultRow): string => {
  const latest = fault?.retry_at === undefined ? '' : `, at the latest at ${fault.retry_at}`
  switch (fault?.held_for) {
    case 'provider':
      return `It goes on as soon as its provider answers${latest}`
    case 'credential':
      return `It goes on as soon as a credential that works is installed (\`svc model add <provider> --key-file <file>\`)`
    case 'grant':
      return 'It goes on as soon as its app has its grant back (`svc app grant <app>`)'
    case undefined:
      return fault?.retry_at === undefined ? 'It is being tried again' : `It is tried again at ${fault.retry_at}`
  }
}

/** It goes on by itself, and nothing but what is missing helps: no call does it. */
export const launchEntry = (row: LaunchRow, { cause, message: text }: LaunchCause): LedgerEntry =>
  entry(row, { kind: 'launch', state: 'waiting', cause, message: text, planned: row.planned_at, action: null })

export const waitEntry = (row: WaitRow): LedgerEntry => {
  const why = row.wait_reason === null ? '' : ` (${row.wait_reason})`
  return entry(row, {
    kind: 'resume',
    state: 'waiting',
    cause: 'wait_overdue',
    message: `Its wait${why} is over by the clock, and it was not woken yet.`,
    planned: row.at,
    action: revive(row.node_id),
  })
}

export const relaunchEntry = (row: RelaunchRow): LedgerEntry => {
  const isOpen = row.old_status === 'active' || row.old_status === 'idle'
  const old = row.old_status === null ? 'is gone' : isOpen ? 'goes on as before' : `is ${row.old_status}`
  return entry(row, {
    kind: 'resume',
    state: 'failed',
    cause: 'relaunch_failed',
    message: `It was to take the place of ${row.succeeds}, which ${old}: ${row.message ?? 'it died'}`,
    planned: row.planned_at,
    action: isOpen ? relaunch(row.succeeds) : null,
  })
}

export const jobEntry = (row: JobRow): LedgerEntry =>
  entry(row, {
    kind: 'resume',
    state: 'unknown',
    cause: 'job_lost',
    message: `Nobody knows how its job \`${briefCommand(row.command)}\` ended${row.error === null ? '' : `: ${row.error}`}. It is not run again by itself: see first what it has done.`,
    planned: row.started_at,
    action: row.status === 'canceled' ? null : startJob(row.node_id),
  })

export const expiredEntry = (row: ExpiredRow): LedgerEntry => {
  const decided =
    row.response === null ? '.' : `, so that its default stands:\n${responseText(row.pages, row.response)}`
  const hears = row.node_id !== null && row.status !== 'canceled'
  return entry(row, {
    kind: 'answer',
    state: 'omitted',
    cause: 'expired',
    message: `Nobody answered "${row.title}" until its deadline${decided}`,
    planned: row.deadline,
    requestId: row.id,
    action: hears ? message(row.node_id) : null,
  })
}

export const unheardEntry = (row: UnheardRow): LedgerEntry =>
  entry(row, {
    kind: 'answer',
    state: 'omitted',
    cause: 'asker_ended',
    message: `"${row.title}" was settled, but ${row.name} was ${row.status} before it heard of it; it reads it when it is brought back.`,
    planned: row.resolved_at,
    requestId: row.request_id,
    action: revive(row.node_id),
  })

/** A stretch of time as a person says it. */
const lasted = (ms: number): string => {
  const seconds = Math.max(1, Math.round(ms / 1000))
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`
}
