import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

export interface CaptureLimits {
  /** Bytes kept from the beginning. */
  readonly head: number
  /** Bytes kept from the end. */
  readonly tail: number
  /** Where the whole is written once it outgrows both; nowhere without it. */
  readonly file?: string
  /** Bytes that the file takes at most. */
  readonly fileLimit?: number
}

export interface Gap {
  /** Bytes that are left out of the text. */
  readonly omitted: number
  /** Where the whole is, or its beginning; absent without a file. */
  readonly file?: string
  /** Bytes that the file lacks at its end. */
  readonly missing: number
  /** Why the file could not be written on. */
  readonly refusal?: string
}

/** Collects output of any length in little memory: all of it while it is short, else its beginning and its end. */
export class OutputCapture {
  #head: Buffer[] = []
  #headBytes = 0
  #tail: Buffer[] = []
  #tailBytes = 0
  #file: number | undefined
  #written = 0
  #full = false
  #refusal: string | undefined
  bytes = 0

  constructor(private readonly limits: CaptureLimits) {}

  get truncated(): boolean {
    return this.bytes > this.limits.head + this.limits.tail
  }

  add(chunk: Buffer): void {
    this.bytes += chunk.length
    const room = Math.max(0, this.limits.head - this.#headBytes)
    if (room > 0) {
      this.#head.push(chunk.subarray(0, room))
      this.#headBytes += Math.min(room, chunk.length)
    }
    if (chunk.length > room) {
      this.#tail.push(chunk.subarray(room))
      this.#tailBytes += chunk.length - room
    }
    if (!this.truncated) return
    this.#spill(chunk)
    while (this.#tail.length > 1 && this.#tailBytes - this.#tail[0]!.length >= this.limits.tail) {
      this.#tailBytes -= this.#tail.shift()!.length
    }
    if (this.#tail.length > 512) this.#tail = [Buffer.concat(this.#tail)]
  }

  /** The text; where something was left out in the middle, `gap` says it in a line of its own. */
  text(gap: (facts: Gap) => string = gapLine): string {
    if (!this.truncated) return Buffer.concat([...this.#head, ...this.#tail]).toString('utf8')
    const tail = withoutBrokenStart(Buffer.concat(this.#tail).subarray(-this.limits.tail))
    const head = withoutBrokenEnd(Buffer.concat(this.#head))
    const facts: Gap = {
      omitted: this.bytes - head.length - tail.length,
      missing: this.bytes - this.#written,
      ...(this.#file !== undefined && { file: this.limits.file! }),
      ...(this.#refusal !== undefined && { refusal: this.#refusal }),
    }
    return `${head.toString('utf8')}\n${gap(facts)}\n${tail.toString('utf8')}`
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }

  #spill(chunk: Buffer): void {
    const { file, fileLimit = Infinity } = this.limits
    if (!file || this.#full) return
    try {
      const first = this.#file === undefined
      if (first) mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      this.#file ??= openSync(file, 'w', 0o600)
      // At the first overflow nothing was dropped yet: what is held is all there was, this chunk included.
      const data = first ? Buffer.concat([...this.#head, ...this.#tail]) : chunk
      const written = writeSync(this.#file, data.subarray(0, fileLimit - this.#written))
      this.#written += written
      this.#full = written < data.length
    } catch (error) {
      // The program goes on, and what is shown of its output says what became of the rest.
      this.#full = true
      this.#refusal = (error as Error).message
    }
  }
}

/** Says what is missing, and where the rest is. */
const gapLine = ({ omitted, file, missing, refusal }: Gap): string => {
  const why = refusal ? ` (${refusal})` : ''
  const kept = missing
    ? `; all but the last ${missing} bytes are in ${file}${why}: read it with offset and limit`
    : `; the whole output is in ${file}: read it with offset and limit`
  return `[… ${omitted} bytes left out here${file ? kept : why && `; they could not be kept${why}`} …]`
}

const withoutBrokenStart = (bytes: Buffer): Buffer => {
  let start = 0
  while (start < Math.min(4, bytes.length) && (bytes[start]! & 0xc0) === 0x80) start += 1
  return bytes.subarray(start)
}

const withoutBrokenEnd = (bytes: Buffer): Buffer => {
  let lead = bytes.length - 1
  while (lead > 0 && lead > bytes.length - 4 && (bytes[lead]! & 0xc0) === 0x80) lead -= 1
  const first = bytes[lead] ?? 0
  const needed = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1
  return lead + needed > bytes.length ? bytes.subarray(0, lead) : bytes
}
