import { monotonic, pause } from '#machine/clock.js'
import type { Job, JobOutput } from '#sdk/generated/types.js'
import type { NodeSession } from '../node/node.session.js'
import { keyOf } from './call.key.js'
import { textOf, wholeOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError, type ToolResult, type ToolRun } from './tool.js'

const actions = ['list', 'output', 'cancel'] as const
const longestWait = 60
/** Bytes of output that the model is shown at once; its end, unless it says where to begin. */
const shownBytes = 16_000
/** Jobs that a list shows. */
const listed = 30
/** Between two looks at a job that is waited for, and how long a canceled one may take to end (ms). */
const lookEvery = 300
const cancelPatience = 8000

/** Starts a command that outlives its call. */
export const startInBackground = async (session: NodeSession, command: string, call: ToolRun): Promise<ToolResult> => {
  const job = await session.daemon.post<Job>(
    'jobs',
    { command },
    { idempotencyKey: keyOf(session, call), signal: call.signal },
  )
  return {
    output: `Started as ${job.id}. It runs on beside your work, also when you stop to rest, and you get a message when it ends. Read what it prints with jobs {"action":"output","job_id":"${job.id}"}; add "wait" to wait for its end.`,
  }
}

type Page = { readonly data: readonly Job[]; readonly next_cursor: string | null }

/** @throws ToolError when the node has no such job */
const findJob = async ({ daemon }: NodeSession, id: string, signal: AbortSignal): Promise<Job> => {
  for (let after = ''; ; ) {
    const page = await daemon.get<Page>(`jobs?limit=200${after && `&after=${encodeURIComponent(after)}`}`, { signal })
    const found = page.data.find((job) => job.id === id)
    if (found) return found
    if (!page.next_cursor) {
      throw new ToolError(`You have no job "${id}". Ask with {"action":"list"} which there are.`)
    }
    after = page.next_cursor
  }
}

export const jobsTool = (session: NodeSession): Tool => ({
  name: 'jobs',
  description: `Looks after your background jobs, which bash starts with \`background\`. \`list\`: which there are and how they ended. \`output\`: what one printed, its end unless \`offset\` is given; with \`wait\` it waits that many seconds for the job's end, or for new output after \`offset\`. \`cancel\`: ends one with all that it started.`,
  inputSchema: schemaOf(
    {
      action: { type: 'string', enum: [...actions] },
      job_id: { type: 'string', description: 'The job, for output and cancel' },
      offset: { type: 'integer', minimum: 0, description: 'Byte of the output to begin at, for output' },
      wait: { type: 'integer', minimum: 0, maximum: longestWait, description: 'Seconds to wait, for output' },
    },
    ['action'],
  ),
  acts: true,
  repeatable: true,
  async run(input, call) {
    const action = actions.find((one) => one === input.action)
    if (!action) throw new ToolError(`"action" must be one of: ${actions.join(', ')}.`)
    if (action === 'list') return listJobs(session, call)
    const id = textOf(input, 'job_id')
    if (action === 'cancel') return cancelJob(session, id, call)
    const wait = wholeOf(input, 'wait', { min: 0, max: longestWait, whenAbsent: 0 })
    const from =
      input.offset === undefined || input.offset === null
        ? undefined
        : wholeOf(input, 'offset', { min: 0, max: Number.MAX_SAFE_INTEGER, whenAbsent: 0 })
    return showOutput(session, { id, from, wait }, call)
  },
})

const listJobs = async ({ daemon }: NodeSession, { signal }: ToolRun): Promise<ToolResult> => {
  const { data, next_cursor } = await daemon.get<Page>(`jobs?limit=${listed}`, { signal })
  if (!data.length) return { output: 'You have no jobs. Start one with bash and "background": true.' }
  const lines = data.map((job) => `${job.id}  ${stateOf(job)}  ${brief(job.command)}`)
  return { output: [...lines, ...(next_cursor ? [`[only the newest ${listed} are shown]`] : [])].join('\n') }
}

interface Wanted {
  readonly id: string
  /** Absent: the end of the output. */
  readonly from: number | undefined
  /** Seconds. */
  readonly wait: number
}

const showOutput = async (session: NodeSession, wanted: Wanted, { signal }: ToolRun): Promise<ToolResult> => {
  const { id, from, wait } = wanted
  await findJob(session, id, signal)
  const path = `jobs/${id}/output?offset=${from ?? -shownBytes}&limit=${shownBytes}`
  const deadline = monotonic() + wait * 1000
  let page = await session.daemon.get<JobOutput>(path, { signal })
  while (page.running && !(from !== undefined && page.content) && monotonic() < deadline) {
    await pause(Math.min(lookEvery, Math.max(1, deadline - monotonic())), signal)
    signal.throwIfAborted()
    page = await session.daemon.get<JobOutput>(path, { signal })
  }
  const job = await findJob(session, id, signal)
  return { output: textOfPage(page, job, from) }
}

const textOfPage = (page: JobOutput, job: Job, from: number | undefined): string => {
  const { content, offset, next_offset, size, omitted } = page
  const before =
    from === undefined && offset > 0 ? `[… ${offset} bytes before this: read them from "offset": 0 …]\n` : ''
  const gap = omitted ? `[… bytes ${omitted.from} to ${omitted.to} were not kept …]\n` : ''
  const skipped = from !== undefined && offset > from + 3 ? gap : ''
  const behind = omitted && offset < omitted.from && next_offset === omitted.to ? gap : ''
  const text = content.trimEnd()
  const more =
    next_offset !== null && next_offset < size ? `; there is more: read on with "offset": ${next_offset}` : ''
  const later = !more && page.running && next_offset !== null ? `; what comes next is at "offset": ${next_offset}` : ''
  return `${before}${skipped}${text ? `${text}\n` : ''}${behind}[${stateOf(job)}; ${size} bytes of output${more}${later}]`
}

const cancelJob = async (session: NodeSession, id: string, call: ToolRun): Promise<ToolResult> => {
  const { signal } = call
  await findJob(session, id, signal)
  await session.daemon.post(`jobs/${id}/cancel`, {}, { idempotencyKey: keyOf(session, call), signal })
  const deadline = monotonic() + cancelPatience
  let job = await findJob(session, id, signal)
  while (job.status === 'running' && monotonic() < deadline) {
    await pause(lookEvery, signal)
    signal.throwIfAborted()
    job = await findJob(session, id, signal)
  }
  const left = job.status === 'running' ? ' It is being ended: it has 5 seconds to leave, then it is killed.' : ''
  return { output: `${job.id}: ${stateOf(job)}.${left}` }
}

const stateOf = ({ status, exit_code, signal, error }: Job): string => {
  if (status === 'exited' && exit_code === null && signal === null) return `could not be run: ${error}`
  if (status === 'exited') return signal === null ? `exited with exit code ${exit_code}` : `ended by ${signal}`
  if (status === 'lost') return `lost: ${error ?? 'nobody knows how it ended'}`
  return status
}

const brief = (command: string): string => {
  const line = command.replaceAll('\n', ' ')
  return line.length > 120 ? `${line.slice(0, 120)}…` : line
}
