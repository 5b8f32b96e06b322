import { z } from 'zod'
import { nodeId, pageOf, pageQuery, queryInt } from './common.schema.js'
import { operation } from './define.js'
import { job, jobId, jobLimits, jobOutput, jobStart, jobStatuses } from './job.schema.js'

const byNode = z.strictObject({ id: nodeId })
const byJob = z.strictObject({ id: nodeId, job_id: jobId })
const owner = ['owner'] as const

/** Commands of a node that run in the background, whatever its process does. */
export const jobOperations = [
  operation({
    name: 'nodes.jobs.list',
    kind: 'route',
    summary: 'List the background jobs of a node, newest first',
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/nodes/{id}/jobs',
    listeners: owner,
    gate: 'own',
    params: byNode,
    query: z.strictObject({ ...pageQuery, status: z.enum(jobStatuses).optional() }),
    response: pageOf(job),
    errors: ['not_found'],
  }),
  operation({
    name: 'nodes.jobs.cancel',
    kind: 'route',
    summary: 'End a background job with all that it started: SIGTERM, and SIGKILL after 5 s',
    description:
      'Answers at once; the job is `killed` when everything that it started is gone. One that has ended stays as it is.',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/jobs/{job_id}/cancel',
    listeners: owner,
    gate: ['self', 'svc:act'],
    params: byJob,
    response: job,
    idempotency: 'key',
    errors: ['not_found'],
  }),
  operation({
    name: 'nodes.jobs.start',
    kind: 'untyped',
    summary: 'Start a command of a node in the background',
    description:
      "It runs as the node's other programs do, lives on when the node rests, and ends when the node is canceled. Its end wakes an agent, and waits in the mail of a program.",
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/nodes/{id}/jobs',
    listeners: owner,
    gate: 'svc:act',
    params: byNode,
    body: jobStart,
    response: job,
    status: 201,
    idempotency: 'key',
    errors: ['not_found', 'illegal_transition', 'quota_exceeded', 'sandbox_required', 'service_unavailable'],
  }),
  operation({
    name: 'nodes.jobs.output',
    kind: 'untyped',
    summary: 'Read the output of a background job',
    description: 'The first MiB and the last 7 MiB are kept; `omitted` says what lies between.',
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/nodes/{id}/jobs/{job_id}/output',
    listeners: owner,
    gate: 'own',
    params: byJob,
    query: z.strictObject({
      offset: queryInt(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
        .default(0)
        .meta({ description: 'Byte to begin at; a negative one counts from the end' }),
      limit: queryInt(1, jobLimits.longestPageBytes).default(jobLimits.pageBytes).meta({ description: 'Bytes' }),
    }),
    response: jobOutput,
    errors: ['not_found', 'service_unavailable'],
  }),
] as const
