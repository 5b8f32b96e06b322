import { z } from 'zod'
import { absolutePath, queryInt, time } from './common.schema.js'

/** Bounds of what one request reads, writes or runs on a machine. */
export const machineLimits = {
  /** Bytes of a file that one read answers. */
  readBytes: 256 * 1024,
  /** Decoded bytes that one write takes. */
  writeBytes: 1024 * 1024,
  listEntries: 1000,
  /** Bytes of a command, and of what is sent to its standard input. */
  commandBytes: 128 * 1024,
  stdinBytes: 1024 * 1024,
  commandMs: 600_000,
  /** Bytes of output that are kept of one command, half of them of its beginning. */
  outputBytes: 1024 * 1024,
} as const

const withoutZero = (text: string): boolean => !text.includes('\0')

export const shellCommand = z
  .string()
  .min(1)
  .max(machineLimits.commandBytes)
  .refine(withoutZero, 'may not hold the character U+0000')
  .meta({ description: 'What `bash -c` is to run; nothing is added to it' })

export const filesReadQuery = z.strictObject({
  path: absolutePath,
  offset: queryInt(0, Number.MAX_SAFE_INTEGER).default(0).meta({ description: 'Byte to begin at' }),
  limit: queryInt(4, machineLimits.readBytes)
    .default(machineLimits.readBytes)
    .meta({ description: 'Bytes to read at most, 4 (a character may have as many) to 262,144' }),
  encoding: z.enum(['auto', 'utf8', 'base64']).default('auto').meta({
    description: '`auto`: `content` when the bytes are UTF-8, else `base64`. `utf8`: what is none shows as U+FFFD.',
  }),
})

export const fileContent = z
  .object({
    path: z.string().meta({ description: 'Where the file really lies, links followed' }),
    encoding: z.enum(['utf8', 'base64']),
    content: z.string().optional().meta({
      description: 'The bytes as text, when `encoding` is utf8. A read never ends in the middle of a character.',
    }),
    base64: z.string().optional(),
    size: z.int().meta({ description: 'Bytes of the whole file' }),
    offset: z.int(),
    next_offset: z.int().nullable().meta({ description: 'Where the next read goes on; null at the end' }),
    truncated: z.boolean().meta({ description: 'Whether the file goes on after this' }),
    mtime: time,
    etag: z.string().meta({ description: 'Names this state of the file, for `if_match`' }),
  })
  .meta({ id: 'FileContent' })

export const fileWrite = z
  .strictObject({
    path: absolutePath,
    content: z.string().optional().meta({ description: 'Text, written as UTF-8; either this or `base64`' }),
    base64: z.string().optional().meta({ description: 'Bytes in base64 (RFC 4648, with padding)' }),
    if_match: z
      .string()
      .max(128)
      .optional()
      .meta({ description: 'Write only if the file is in the state that this etag names; `*`: only if there is one' }),
    create_only: z.boolean().optional().meta({ description: 'Write only if there is no file yet' }),
    parents: z.boolean().optional().meta({ description: 'Make missing directories on the way' }),
  })
  .refine(({ content, base64 }) => (content === undefined) !== (base64 === undefined), {
    path: ['content'],
    error: 'either this or base64 is needed, and not both',
  })
  .refine(({ if_match, create_only }) => if_match === undefined || !create_only, {
    path: ['if_match'],
    error: 'makes no sense with create_only',
  })

export const fileWritten = z
  .object({
    path: z.string(),
    size: z.int(),
    created: z.boolean(),
    mtime: time,
    etag: z.string(),
  })
  .meta({ id: 'FileWritten' })

export const filesListQuery = z.strictObject({
  path: absolutePath,
  limit: queryInt(1, machineLimits.listEntries)
    .default(machineLimits.listEntries)
    .meta({ description: 'Entries a page, 1 to 1,000' }),
  after: z.string().max(1024).optional().meta({ description: 'Cursor of the previous page' }),
})

export const fileEntry = z
  .object({
    name: z.string(),
    name_base64: z
      .string()
      .optional()
      .meta({ description: 'The bytes of the name, where they are no UTF-8 and `name` shows them only nearly' }),
    type: z.enum(['file', 'directory', 'symlink', 'other']),
    size: z.int(),
    mode: z.string().meta({ description: 'Permissions, four octal digits' }),
    mtime: time,
    target: z.string().optional().meta({ description: 'Where a symlink points, as it is written' }),
  })
  .meta({ id: 'FileEntry' })

/** A page of a directory, by name in the order of its bytes. */
export const fileList = z.object({
  path: z.string(),
  data: z.array(fileEntry),
  truncated: z.boolean(),
  next_cursor: z.string().nullable(),
  has_more: z.boolean(),
})

const variables = z.record(
  z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .max(256),
  z.string().max(32_768).refine(withoutZero),
)

export const bashCommand = z.strictObject({
  cwd: absolutePath,
  command: shellCommand,
  timeout: z
    .int()
    .min(1)
    .max(machineLimits.commandMs)
    .default(120_000)
    .meta({ description: 'Milliseconds, at most 600,000; then all that it started is ended' }),
  env: variables.optional().meta({ description: 'Variables besides those that every command gets' }),
  stdin: z.string().max(machineLimits.stdinBytes).optional(),
})

export const bashResult = z
  .object({
    exit_code: z.int().nullable().meta({ description: 'A value, whatever it is; null when a signal ended it' }),
    signal: z.string().nullable().meta({ description: 'The signal that ended it, like `SIGKILL`' }),
    stdout: z.string().meta({ description: 'As UTF-8; bytes that are none show as U+FFFD' }),
    stderr: z.string(),
    truncated: z
      .boolean()
      .meta({ description: 'Whether the middle of an output was left out, which a line in it says' }),
    duration_ms: z.int(),
    timed_out: z.boolean(),
  })
  .meta({ id: 'BashResult' })

export const sandboxLevels = ['bubblewrap', 'account', 'none'] as const
export type SandboxLevel = (typeof sandboxLevels)[number]

/** What holds on one machine for the programs of nodes. */
export const sandboxState = z
  .object({
    level: z.enum(sandboxLevels).meta({
      description:
        '`bubblewrap`: own view of files, processes and devices. `account`: a system account a node. `none`: as the daemon itself.',
    }),
    detail: z.string().max(2000).meta({ description: 'What that means here, and what keeps a better level away' }),
  })
  .meta({ id: 'SandboxState' })
