/** How many pieces are kept apart before they are made one: a program may write a byte at a time. */
const mostPieces = 256

/** What of a program's output is kept in little memory: all of it while it is short, else its beginning and its end. */
export class BashOutput {
  #head: Buffer[] = []
  #headBytes = 0
  #tail: Buffer[] = []
  #tailBytes = 0
  #bytes = 0

  /** @param limit bytes kept, half of them of the beginning */
  constructor(private readonly limit: number) {}

  /** Bytes that were written in all. */
  get bytes(): number {
    return this.#bytes
  }

  /** Bytes that are held now: never much more than the limit. */
  get held(): number {
    return this.#headBytes + this.#tailBytes
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length
    const room = this.#half - this.#headBytes
    const first = chunk.subarray(0, Math.max(0, room))
    if (first.length > 0) this.#keepFirst(first)
    if (first.length < chunk.length) this.#keepLast(chunk.subarray(first.length))
  }

  /**
   * The text, at most `limit` bytes of output and one line that says how many were left out. It is cut between
   * characters; bytes that are no UTF-8 are replaced.
   */
  text(limit = this.limit): { readonly text: string; readonly truncated: boolean } {
    const kept = Buffer.concat([...this.#head, ...this.#tail])
    if (this.#bytes <= limit) return { text: kept.toString('utf8'), truncated: false }
    const half = Math.floor(limit / 2)
    const head = withoutBrokenEnd(kept.subarray(0, half))
    const tail = withoutBrokenStart(kept.subarray(kept.length - half))
    const omitted = this.#bytes - head.length - tail.length
    return {
      text: `${head.toString('utf8')}\n[… ${omitted} bytes left out …]\n${tail.toString('utf8')}`,
      truncated: true,
    }
  }

  get #half(): number {
    return Math.ceil(this.limit / 2)
  }

  #keepFirst(bytes: Buffer): void {
    this.#head.push(bytes)
    this.#headBytes += bytes.length
    if (this.#head.length > mostPieces) this.#head = [Buffer.concat(this.#head)]
  }

  #keepLast(bytes: Buffer): void {
    this.#tail.push(bytes)
    this.#tailBytes += bytes.length
    if (this.#tail.length <= mostPieces && this.#tailBytes <= 4 * this.#half) return
    // A copy of what is needed: a part of a piece would keep the whole of it.
    const last = Buffer.from(Buffer.concat(this.#tail).subarray(-this.#half))
    this.#tail = [last]
    this.#tailBytes = last.length
  }
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** Without the rest of a character whose beginning was cut off. */
const withoutBrokenStart = (bytes: Buffer): Buffer => {
  let start = 0
  while (start < 3 && isContinuation(bytes[start])) start += 1
  return bytes.subarray(start)
}

/** Without the beginning of a character whose rest was cut off. */
const withoutBrokenEnd = (bytes: Buffer): Buffer => {
  let lead = bytes.length - 1
  while (lead > 0 && lead > bytes.length - 4 && isContinuation(bytes[lead])) lead -= 1
  const first = bytes[lead] ?? 0
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1
  return lead + length > bytes.length ? bytes.subarray(0, Math.max(0, lead)) : bytes
}
