import { contract } from '#common/contract/index.js'
import type { JobChunk } from '#common/contract/job.schema.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import type { Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Logger } from '#common/kernel/log.js'
import { LiveText } from './live.text.js'

type Told = JobChunk & { readonly node_id: string }

/** Between two batches (ms); characters of one batch; longest wait for its answer (ms). */
const pace = 100
const batchLength = 512 * 1024
const patience = 2000

interface Source {
  readonly nodeId: string
  readonly text: LiveText
}

/** Tells those who watch what jobs print, as far as they keep up; the files have all of it. */
export class LiveFeed {
  readonly #sources = new Map<string, Source>()
  readonly #last: Told[] = []
  #scheduled = false
  #closed = false

  constructor(private readonly options: { bus: Bus; clock: Clock; log: Logger; hostId: string }) {}

  add(jobId: string, nodeId: string, chunk: Buffer, offset: number): void {
    const source = this.#sources.get(jobId) ?? { nodeId, text: new LiveText(jobId) }
    this.#sources.set(jobId, source)
    source.text.add(chunk, offset)
    this.#schedule()
  }

  /** Nothing follows of this job. */
  finish(jobId: string): void {
    const source = this.#sources.get(jobId)
    if (!source) return
    this.#sources.delete(jobId)
    const chunk = source.text.take(true)
    if (chunk) this.#last.push({ ...chunk, node_id: source.nodeId })
    this.#schedule()
  }

  close(): void {
    this.#closed = true
  }

  #schedule(): void {
    if (this.#scheduled || this.#closed) return
    this.#scheduled = true
    this.options.clock.after(pace, () => {
      void this.#send().finally(() => {
        this.#scheduled = false
        if (this.#last.length) this.#schedule()
      })
    })
  }

  async #send(): Promise<void> {
    const chunks = this.#batch()
    if (!chunks.length) return
    const { bus, hostId, log } = this.options
    try {
      const input = { host_id: hostId, chunks }
      await bus.call(contract['lifecycle.host.jobOutput'], systemContext('host'), input, { timeout: patience })
    } catch (error) {
      // Lossy by design: who watches finds the gap by its offset.
      log.debug({ reason: (error as Error).message }, 'output of jobs was not told')
    }
  }

  #batch(): Told[] {
    const chunks = this.#last.splice(0, 256)
    let length = chunks.reduce((sum, { text }) => sum + text.length, 0)
    for (const { nodeId, text } of this.#sources.values()) {
      if (length >= batchLength) break
      const chunk = text.take()
      if (!chunk) continue
      length += chunk.text.length
      chunks.push({ ...chunk, node_id: nodeId })
    }
    return chunks
  }
}
