import type { JobChunk } from '#common/contract/job.schema.js'
import { brokenStart, withoutBrokenEnd } from './job.output.js'

/** Bytes of one job that wait to be told; older ones are left out, since the file has them. */
const waitingBytes = 32 * 1024

/** Output of one job on its way to those who watch. */
export class LiveText {
  #bytes: Buffer = Buffer.alloc(0)
  #offset = 0

  constructor(private readonly jobId: string) {}

  /** @param offset where the chunk begins in the whole output */
  add(chunk: Buffer, offset: number): void {
    if (!this.#bytes.length) this.#offset = offset
    const all = this.#bytes.length ? Buffer.concat([this.#bytes, chunk]) : chunk
    const from = Math.max(0, all.length - waitingBytes)
    const cut = all.subarray(from)
    const broken = from > 0 ? brokenStart(cut) : 0
    this.#bytes = cut.subarray(broken)
    this.#offset += from + broken
  }

  /** What can be told by now; undefined when there is nothing. @param last whether nothing follows */
  take(last = false): JobChunk | undefined {
    const bytes = last ? this.#bytes : withoutBrokenEnd(this.#bytes)
    if (!bytes.length) return undefined
    const chunk = { job_id: this.jobId, offset: this.#offset, text: bytes.toString('utf8') }
    this.#bytes = this.#bytes.subarray(bytes.length)
    this.#offset += bytes.length
    return chunk
  }
}
