import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { KeptOutput } from '#common/contract/job.internal.js'
import { jobLimits } from '#common/contract/job.schema.js'

/** An output is kept in pieces of one size, so that where it stands is known from their names after any crash. */
const pieceBytes = jobLimits.headBytes
const lastPieces = jobLimits.tailBytes / pieceBytes

const pieceName = (index: number): string => `output.${String(index).padStart(7, '0')}`
const pieceIndex = (name: string): number | undefined => {
  const digits = /^output\.(\d{7,})$/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/**
 * Writes the output of one job: the first MiB is kept for good, of the rest at least the last 7 MiB. Written at once, so
 * that a program that prints faster than the disk takes it waits, and not this process's memory.
 */
export class JobOutputWriter {
  #piece = -1
  #file: number | undefined
  #refusal: string | undefined
  /** Bytes so far. */
  size = 0
  #stored = 0

  constructor(private readonly directory: string) {}

  /** Why the rest of the output is not kept. */
  get refusal(): string | undefined {
    return this.#refusal
  }

  /** Whether something of it was not kept. */
  get truncated(): boolean {
    return this.#refusal !== undefined || this.#piece > lastPieces + 1
  }

  add(chunk: Buffer): void {
    this.size += chunk.length
    if (this.#refusal !== undefined) return
    try {
      for (let from = 0; from < chunk.length; ) from += this.#append(chunk, from)
    } catch (error) {
      // The job goes on; whoever reads its output is told that the rest is missing.
      this.#refusal = (error as Error).message
      this.close()
    }
  }

  close(): void {
    const file = this.#file
    this.#file = undefined
    if (file !== undefined) closeSync(file)
  }

  #append(chunk: Buffer, from: number): number {
    const index = Math.floor(this.#stored / pieceBytes)
    if (index !== this.#piece) this.#turnTo(index)
    const room = pieceBytes - (this.#stored % pieceBytes)
    const written = writeSync(this.#file as number, chunk, from, Math.min(room, chunk.length - from))
    this.#stored += written
    return written
  }

  #turnTo(index: number): void {
    this.close()
    this.#file = openSync(join(this.directory, pieceName(index)), 'w', 0o600)
    this.#piece = index
    const old = index - lastPieces - 1
    if (old >= 1) unlinkSync(join(this.directory, pieceName(old)))
  }
}

interface Range {
  readonly from: number
  readonly to: number
}

/** What of an output is on the disk: its beginning, and its end where the middle was left out. */
const keptRanges = async (directory: string): Promise<Range[]> => {
  const pieces = (await readdir(directory)).flatMap((name) => pieceIndex(name) ?? []).sort((a, b) => a - b)
  const last = pieces.at(-1)
  if (last === undefined) return []
  const end = last * pieceBytes + (await stat(join(directory, pieceName(last)))).size
  // the oldest piece of the tail may be removed at any moment: the next newer one begins it
  const second = pieces.find((index, at) => index !== at)
  return second === undefined
    ? [{ from: 0, to: end }]
    : [
        { from: 0, to: pieceBytes },
        { from: second * pieceBytes, to: end },
      ]
}

/** Bytes of an output on the disk, those that were left out included. */
export const storedBytes = async (directory: string): Promise<number> => (await keptRanges(directory)).at(-1)?.to ?? 0

const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** Bytes from an offset on, as far as one range goes; fewer where the output was cut meanwhile. */
const readBytes = async (directory: string, from: number, to: number): Promise<Buffer> => {
  const parts: Buffer[] = []
  for (let at = from; at < to; ) {
    const index = Math.floor(at / pieceBytes)
    const file = await open(join(directory, pieceName(index)), 'r')
    try {
      const wanted = Math.min(to, (index + 1) * pieceBytes) - at
      const { bytesRead, buffer } = await file.read(Buffer.alloc(wanted), 0, wanted, at - index * pieceBytes)
      if (bytesRead === 0) break
      parts.push(buffer.subarray(0, bytesRead))
      at += bytesRead
    } finally {
      await file.close()
    }
  }
  return Buffer.concat(parts)
}

export interface OutputPage {
  /** A negative one counts from the end. */
  readonly offset: number
  readonly limit: number
  /** Bytes that the job has written. */
  readonly size: number
  /** Whether more may follow: then a character that is cut at the end is left for the next page. */
  readonly running: boolean
}

/** A page of an output, cut between characters. */
export const readOutput = async (directory: string, page: OutputPage): Promise<KeptOutput> => {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await readPage(directory, page)
    } catch (error) {
      // the tail moved on while it was read
      if (!isGone(error) || attempt >= 4) throw error
    }
  }
}

const readPage = async (directory: string, { offset, limit, size, running }: OutputPage): Promise<KeptOutput> => {
  const ranges = await keptRanges(directory)
  const stored = ranges.at(-1)?.to ?? 0
  const wanted = offset < 0 ? Math.max(0, size + offset) : Math.min(offset, size)
  const range = ranges.find(({ to }) => wanted < to)
  const from = range ? Math.max(wanted, range.from) : wanted >= stored ? size : stored
  const bytes = range
    ? await readBytes(directory, from, Math.min(range.to, from + Math.max(limit, 4)))
    : Buffer.alloc(0)
  const skipped = from > 0 ? brokenStart(bytes) : 0
  // what follows a cut character is to come, unless nothing comes or it was left out
  const isEnd = from + bytes.length >= (range?.to ?? 0) && (!running || range !== ranges.at(-1))
  const shown = isEnd ? bytes.subarray(skipped) : withoutBrokenEnd(bytes.subarray(skipped))
  const end = from + skipped + shown.length
  const next = ranges.find(({ from: begin }) => begin > end)
  return {
    content: shown.toString('utf8'),
    offset: from + skipped,
    next_offset: end === ranges[0]?.to && next ? next.from : end >= stored && !running ? size : end,
    size,
    truncated: ranges.length > 1 || stored < size,
    omitted: gapOf(ranges, size),
  }
}

const gapOf = (ranges: readonly Range[], size: number): Range | null => {
  const [head, tail] = ranges
  const stored = (tail ?? head)?.to ?? 0
  if (tail && head) return { from: head.to, to: tail.from }
  return stored < size ? { from: stored, to: size } : null
}

/** Bytes at the beginning that belong to a character before it. */
export const brokenStart = (bytes: Buffer): number => {
  let start = 0
  while (start < Math.min(3, bytes.length) && (bytes[start]! & 0xc0) === 0x80) start += 1
  return start
}

/** Without the first bytes of a character of which more is to come. */
export const withoutBrokenEnd = (bytes: Buffer): Buffer => {
  let lead = bytes.length - 1
  while (lead > 0 && lead > bytes.length - 4 && (bytes[lead]! & 0xc0) === 0x80) lead -= 1
  const first = bytes[lead] ?? 0
  const needed = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1
  return lead + needed > bytes.length ? bytes.subarray(0, lead) : bytes
}
