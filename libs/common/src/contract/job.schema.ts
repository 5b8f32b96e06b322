import { z } from 'zod'
import { absolutePath, idOf, nodeId, time } from './common.schema.js'

export const jobStatuses = ['running', 'exited', 'killed', 'lost'] as const
export type JobStatus = (typeof jobStatuses)[number]

export const jobLimits = {
  /** Running jobs of one node, and of one host. */
  perNode: 16,
  perHost: 256,
  /** What is kept of an output: its first bytes, and its last. */
  headBytes: 1024 * 1024,
  tailBytes: 7 * 1024 * 1024,
  /** Bytes of one answer of output, unless asked for and at most. */
  pageBytes: 64 * 1024,
  longestPageBytes: 256 * 1024,
  /** Ms between SIGTERM and SIGKILL of a job that is canceled. */
  graceMs: 5000,
  /** Ms for which an ended job and its output are kept. */
  keptMs: 14 * 86_400_000,
} as const

export const jobId = idOf('job')

const commandText = z
  .string()
  .min(1)
  .max(100_000)
  .refine((text) => text.trim() !== '' && !text.includes('\0'), 'must be a command, without the character U+0000')

export const job = z
  .object({
    id: jobId,
    node_id: nodeId,
    command: z.string(),
    cwd: z.string(),
    status: z.enum(jobStatuses).meta({
      description:
        '`exited`: it ended by itself, or could not be started (`error`). `killed`: it was canceled. `lost`: its host was restarted, or nobody knows its end.',
    }),
    exit_code: z.int().nullable(),
    signal: z.string().nullable().meta({ description: 'The signal that ended it, if it was not canceled' }),
    started_at: time,
    ended_at: time.nullable(),
    output_bytes: z.int().min(0).meta({ description: 'All bytes that it wrote; told once it has ended' }),
    truncated: z.boolean().meta({ description: 'Whether the middle of its output was not kept' }),
    error: z.string().nullable().meta({
      description: 'Why it could not be started, or why it is lost; while it runs, that its host is not heard',
    }),
  })
  .meta({ id: 'Job' })
export type Job = z.infer<typeof job>

export const jobStart = z.strictObject({
  command: commandText.meta({ description: 'What bash is to run' }),
  cwd: absolutePath.optional().meta({ description: "Working directory; the node's unless given" }),
})

/** Bytes that were left out, from the first up to but without the second. */
const byteRange = z.object({ from: z.int().min(0), to: z.int().min(0) })

export const jobOutput = z
  .object({
    content: z.string().meta({ description: 'Standard output and standard error, as they came' }),
    offset: z.int().min(0).meta({ description: 'Byte of the whole output at which `content` begins' }),
    next_offset: z.int().nullable().meta({ description: 'Where to read on; null after the end' }),
    size: z.int().min(0).meta({ description: 'Bytes that were written so far' }),
    truncated: z.boolean(),
    omitted: byteRange.nullable().meta({ description: 'Bytes in the middle that were not kept' }),
    running: z.boolean(),
  })
  .meta({ id: 'JobOutput' })
export type JobOutput = z.infer<typeof jobOutput>

/** A piece of output as it comes, never stored with the node; whoever missed some reads `output` from `offset`. */
export const jobChunk = z.object({ job_id: jobId, offset: z.int().min(0), text: z.string() })
export type JobChunk = z.infer<typeof jobChunk>
