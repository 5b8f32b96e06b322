import type { IncomingMessage } from 'node:http'
import { ask, open, type Wire } from './load.http.js'

/** Ids of one acknowledgement, as many as the contract takes. */
const atOnce = 1000

/**
 * Receives a queue over one bare connection and acknowledges what came, as soon as it came, one request at a time. It begins
 * with an empty queue, and counts from there.
 */
export class FlowConsumer {
  /** When each delivery came. */
  readonly moments: number[] = []
  #acknowledged = 0
  #waiting: string[] = []
  #asking = false
  #rest = ''
  #hopes: { readonly isMet: () => boolean; readonly resolve: () => void }[] = []
  #failure: unknown

  private constructor(
    private readonly wire: Wire,
    private readonly path: string,
    private readonly stream: IncomingMessage,
  ) {
    stream.setEncoding('utf8')
    stream.on('error', () => undefined)
    stream.on('data', (chunk: string) => this.#read(chunk))
  }

  static async open(wire: Wire, queue: string): Promise<FlowConsumer> {
    const path = `/v1/custom-objects/${queue}`
    return new FlowConsumer(wire, path, await open(wire, 'GET', `${path}/receive`))
  }

  arrived(count: number): Promise<void> {
    return this.#when(() => this.moments.length >= count)
  }

  acknowledged(count: number): Promise<void> {
    return this.#when(() => this.#acknowledged >= count)
  }

  close(): void {
    this.stream.destroy()
  }

  /** @throws Error when the stream ended or an acknowledgement was refused */
  async #when(isMet: () => boolean): Promise<void> {
    if (!isMet() && this.#failure === undefined)
      await new Promise<void>((resolve) => {
        this.#hopes.push({ isMet, resolve })
      })
    if (this.#failure) throw this.#failure
  }

  #look(): void {
    const met = this.#hopes.filter(({ isMet }) => isMet() || this.#failure !== undefined)
    if (!met.length) return
    this.#hopes = this.#hopes.filter((hope) => !met.includes(hope))
    for (const { resolve } of met) resolve()
  }

  #read(chunk: string): void {
    const frames = (this.#rest + chunk).split('\n\n')
    this.#rest = frames.pop() ?? ''
    const now = performance.now()
    for (const frame of frames) {
      const at = frame.indexOf('data: {')
      if (at < 0) continue
      const { id } = JSON.parse(frame.slice(at + 'data: '.length)) as { id?: string }
      if (id === undefined) {
        this.#failure = new Error(`the stream said ${frame}`)
        break
      }
      this.moments.push(now)
      this.#waiting.push(id)
    }
    this.#look()
    void this.#acknowledge().catch((error: unknown) => {
      this.#failure = error
      this.#look()
    })
  }

  async #acknowledge(): Promise<void> {
    if (this.#asking) return
    this.#asking = true
    while (this.#waiting.length) {
      const ids = this.#waiting.splice(0, atOnce)
      await ask(this.wire, 'POST', `${this.path}/ack`, { ids })
      this.#acknowledged += ids.length
      this.#look()
    }
    this.#asking = false
  }
}
