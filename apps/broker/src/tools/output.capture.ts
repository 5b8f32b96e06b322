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

/** Collects output of any length in little memory: all of it while it is short, else its beginning and its end. */
export class OutputCapture {
  #head: Buffer[] = []
  #headBytes = 0
  #tail: Buffer[] = []
  #tailBytes = 0
  #file: number | undefined
  #written = 0
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
  text(gap: (facts: { omitted: number; bytes: number; file: string | undefined }) => string = defaultGap): string {
    if (!this.truncated) return Buffer.concat([...this.#head, ...this.#tail]).toString('utf8')
    const tail = withoutBrokenStart(Buffer.concat(this.#tail).subarray(-this.limits.tail))
    const head = withoutBrokenEnd(Buffer.concat(this.#head))
    const facts = {
      omitted: this.bytes - head.length - tail.length,
      bytes: this.bytes,
      file: this.#file === undefined ? undefined : this.limits.file,
    }
    return `${head.toString('utf8')}\n${gap(facts)}\n${tail.toString('utf8')}`
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }

  #spill(chunk: Buffer): void {
    const { file, fileLimit = Infinity } = this.limits
    if (!file || this.#written >= fileLimit) return
    try {
      const first = this.#file === undefined
      if (first) mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      this.#file ??= openSync(file, 'w', 0o600)
      // At the first overflow nothing was dropped yet: what is held is all there was, this chunk included.
      const data = first ? Buffer.concat([...this.#head, ...this.#tail]) : chunk
      this.#written += writeSync(this.#file, data.subarray(0, fileLimit - this.#written))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      this.#written = Infinity
    }
  }
}

const defaultGap = ({ omitted, file }: { omitted: number; file: string | undefined }): string =>
  `[… ${omitted} bytes left out here${file ? `; the whole output is in ${file}` : ''} …]`

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
