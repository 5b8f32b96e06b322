import { z } from 'zod'
import { nodeId, nodeMakers, time } from './common.schema.js'
import { operation } from './define.js'
import { jobChunk, jobId, jobOutput, jobStatuses } from './job.schema.js'

/** A job of which its host still has something to tell: that it runs, or an end that lifecycle has not taken yet. */
export const hostedJob = z.object({
  job_id: jobId,
  running: z.boolean(),
  scopes: z
    .array(z.string())
    .default([])
    .meta({ description: 'Of those that it was started with: its mounts, and that it is a shell' }),
})
export type HostedJob = z.infer<typeof hostedJob>

/** How a job ended, as its host says it. */
export const jobEnd = z.object({
  job_id: jobId,
  node_id: nodeId,
  status: z.enum(jobStatuses).exclude(['running']),
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  ended_at: time,
  output_bytes: z.int().min(0),
  truncated: z.boolean(),
  error: z.string().max(4000).nullable(),
  tail: z.string().max(4000).meta({ description: 'The last lines of its output' }),
})
export type JobEnd = z.infer<typeof jobEnd>

/** Output as the host keeps it; whether the job runs is lifecycle's to say. */
export const keptOutput = jobOutput.omit({ running: true }).extend({ next_offset: z.int().min(0) })
export type KeptOutput = z.infer<typeof keptOutput>

/** Spoken between lifecycle, which keeps the record of jobs, and the host, which runs them. */
export const jobInternalOperations = [
  operation({
    name: 'host.job.start',
    kind: 'internal',
    summary: 'Run this job, unless it ever ran or was ended here; a repetition changes nothing',
    service: 'host',
    body: z.object({
      job_id: jobId,
      node_id: nodeId,
      incarnation: z
        .string()
        .meta({ description: 'The start of the host for which this job was made; any other refuses it' }),
      command: z.string(),
      cwd: z.string(),
      /** Where the node works; with its scopes this decides what the job may see. */
      node_cwd: z.string(),
      git_dir: z.string().nullable(),
      scopes: z.array(z.string()),
      makers: nodeMakers,
      consent: z
        .boolean()
        .default(false)
        .meta({ description: 'Whether the owner consented to running it without a sandbox' }),
      token: z.string(),
      base_url: z.string(),
    }),
    response: z.object({ state: z.enum(['started', 'running', 'ended']) }),
    timeout: 15_000,
    errors: ['stale_generation'],
  }),
  operation({
    name: 'host.job.cancel',
    kind: 'internal',
    summary: 'End a job with all that it started, or keep it from ever starting',
    service: 'host',
    body: z.object({ job_id: jobId, node_id: nodeId }),
    response: z.object({ state: z.enum(['ending', 'ended']) }),
  }),
  operation({
    name: 'host.job.output',
    kind: 'internal',
    summary: "Read a job's output",
    service: 'host',
    body: z.object({ job_id: jobId, offset: z.int(), limit: z.int().min(1) }),
    response: keptOutput,
    errors: ['not_found'],
  }),
  operation({
    name: 'lifecycle.host.jobEnded',
    kind: 'internal',
    summary: 'A job has ended, and nothing of it lives; told until it is answered',
    service: 'lifecycle',
    body: z.object({ host_id: z.string(), end: jobEnd }),
    response: z.object({ noted: z.boolean() }),
    idempotency: 'natural',
  }),
  operation({
    name: 'lifecycle.host.jobOutput',
    kind: 'internal',
    summary: 'Output of jobs as it comes, for those who watch; what is lost is read from the file',
    service: 'lifecycle',
    body: z.object({
      host_id: z.string(),
      chunks: z.array(jobChunk.extend({ node_id: nodeId })).max(512),
    }),
    response: z.object({ noted: z.boolean() }),
    idempotency: 'natural',
  }),
] as const
