import type { Command } from 'commander'
import type { Client, Job, JobOutput } from '#sdk/index.js'
import { pause } from '../../clock.js'
import { UsageError } from '../../failure.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { jobState } from '../../node/job.text.js'
import type { Shell } from '../../shell.js'

interface OutputOptions {
  readonly offset?: number
  readonly tail?: number
  readonly follow?: boolean
}

/** Bytes of one page, and how often a running job is asked for more (ms). */
const pageBytes = 256 * 1024
const lookEvery = 500

export const registerJobOutput = (node: Command, shell: Shell): void => {
  const made = command(node, 'job-output <id> <job>', {
    calls: ['nodes.jobs.output'],
    mayCall: ['nodes.jobs.list'],
    summary: 'Print what a background job has printed',
    about: 'Of a long output the first MiB and the last 7 MiB are kept; a line on standard error says what is missing.',
    examples: [
      ['svc node job-output <id> <job> --follow', 'and what comes, until it ends'],
      ['svc node job-output <id> <job> --tail 2000', 'the last 2,000 bytes'],
    ],
  })
    .option('--offset <bytes>', 'begin at this byte', wholeNumber)
    .option('--tail <bytes>', 'only so many bytes of the end', wholeNumber)
    .option('-f, --follow', 'go on until the job ends')
  performs<OutputOptions>(made, shell, async ({ client, out, json, options }, id = '', jobId = '') => {
    const first = beginningOf(options)
    const svc = await client()
    for await (const { missing, ...page } of pagesOf(svc, { id, jobId, first, follow: options.follow === true })) {
      if (json) out.record(page)
      else {
        out.write(page.content)
        if (missing) out.note(`[bytes ${missing.from} to ${missing.to} were not kept]`)
      }
    }
    if (json || !options.follow) return
    const job = await jobOf(svc, id, jobId)
    if (job) out.note(`${job.id} ${jobState(job)}`)
  })
}

/** Byte to begin at; counted from the end where it is negative. @throws UsageError */
const beginningOf = ({ offset, tail }: OutputOptions): number => {
  if (tail === undefined) return offset ?? 0
  if (offset !== undefined) throw new UsageError('--offset and --tail exclude each other')
  if (tail === 0) throw new UsageError('--tail takes a number of bytes, 1 at least')
  return -tail
}

/** `missing`: what lies between this page and the next and was not kept. */
type Page = JobOutput & { readonly missing: JobOutput['omitted'] }

/** The pages of an output, to its end as of now, or to the end of the job. */
async function* pagesOf(
  svc: Client,
  wanted: { id: string; jobId: string; first: number; follow: boolean },
): AsyncGenerator<Page> {
  const path = `/v1/nodes/${encodeURIComponent(wanted.id)}/jobs/${encodeURIComponent(wanted.jobId)}/output`
  for (let offset = wanted.first; ; ) {
    const page = await svc.request<JobOutput>('GET', `${path}?offset=${offset}&limit=${pageBytes}`)
    const { content, omitted, next_offset } = page
    const missing = omitted && page.offset < omitted.from && next_offset === omitted.to ? omitted : null
    const upToDate = next_offset === null || next_offset >= page.size || next_offset === offset
    const last = next_offset === null || (upToDate && !(wanted.follow && page.running))
    if (content || missing || last) yield { ...page, missing }
    if (last) return
    if (upToDate) await pause(lookEvery)
    offset = next_offset
  }
}

const jobOf = async (svc: Client, id: string, jobId: string): Promise<Job | undefined> => {
  for await (const job of svc.nodes.jobs.list(id, { limit: 200 })) if (job.id === jobId) return job
  return undefined
}
