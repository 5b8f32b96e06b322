import type { Command } from 'commander'
import type { Job, NodesJobsListQuery } from '#sdk/index.js'
import { ago } from '../../clock.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { jobState } from '../../node/job.text.js'
import { brief, table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

interface JobsOptions {
  readonly status?: Job['status']
  readonly limit?: number
  readonly all?: boolean
}

export const registerJobs = (node: Command, shell: Shell): void => {
  const made = command(node, 'jobs <id>', {
    calls: ['nodes.jobs.list'],
    summary: 'List the background jobs of a node, newest first',
    examples: [['svc node jobs <id> --status running', 'those that run now']],
  })
    .option('--status <status>', 'running, exited, killed or lost')
    .option('--limit <number>', 'entries a page, 1 to 200', wholeNumber)
    .option('--all', 'every page')
  performs<JobsOptions>(made, shell, async ({ client, out, json, options }, id = '') => {
    const { all, status, limit } = options
    const jobs = (await client()).nodes.jobs.list(id, { status, limit } as NodesJobsListQuery)
    if (json && all) for await (const job of jobs) out.record(job)
    else if (json) out.json(await jobs.page)
    else if (all) out.line(tableOf(await everyOne(jobs)))
    else {
      const { data, has_more } = await jobs.page
      out.line(tableOf(data))
      if (has_more) out.note('there are more: --all lists every one')
    }
  })
}

export const registerJobCancel = (node: Command, shell: Shell): void => {
  const made = command(node, 'job-cancel <id> <job>', {
    calls: ['nodes.jobs.cancel'],
    summary: 'End a background job with all that it started: SIGTERM, and SIGKILL after 5 s',
  })
  performs(made, shell, async ({ client, out, json }, id = '', jobId = '') => {
    const job = await (await client()).nodes.jobs.cancel(id, jobId)
    if (json) out.json(job)
    else out.line(`${job.id}  ${job.status === 'running' ? 'is being ended' : jobState(job)}`)
  })
}

const tableOf = (jobs: readonly Job[]): string =>
  table(
    ['ID', 'STATE', 'AGE', 'COMMAND'],
    jobs.map((job) => [job.id, jobState(job), ago(job.started_at), brief(job.command)]),
  )

const everyOne = async (jobs: AsyncIterable<Job>): Promise<Job[]> => {
  const found: Job[] = []
  for await (const job of jobs) found.push(job)
  return found
}
