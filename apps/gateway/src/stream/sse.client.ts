import type { ServerResponse } from 'node:http'
import type { Clock } from '#common/kernel/clock.js'
import { endFrame, heartbeat, overflowFrame } from './frames.js'

/** Bytes that may wait for a client before it is cut off. */
export const bufferLimit = 1024 * 1024
/** How long a client that was cut off has to read what was sent before (ms). */
const lastReading = 10_000

/**
 * One open stream to one client. Nothing is kept for it but what Node's own buffer holds, which is bounded: `push` cuts
 * a client off that doesn't keep up, `send` waits for it.
 */
export class SseClient {
  /** Fires when the stream is over, whichever side ended it. */
  readonly over = new AbortController()
  #quiet = true

  constructor(
    private readonly response: ServerResponse,
    private readonly clock: Clock,
    private readonly limit = bufferLimit,
  ) {
    response.once('close', () => this.over.abort())
  }

  get isOpen(): boolean {
    return !this.over.signal.aborted
  }

  /** Bytes that the client hasn't taken yet. */
  get buffered(): number {
    return this.response.writableLength
  }

  /** Writes what happens now. A client with too much unread is sent `overflow` and cut off. */
  push(frame: Buffer): void {
    if (!this.isOpen) return
    if (this.buffered + frame.length > this.limit && this.buffered > 0) this.#finish(overflowFrame(this.buffered))
    else this.#write(frame)
  }

  /** Writes and waits until the client has room again, or has gone. */
  async send(frame: Buffer): Promise<void> {
    if (!this.isOpen || this.#write(frame)) return
    await new Promise<void>((resolve) => {
      const settle = (): void => {
        this.response.off('drain', settle)
        this.over.signal.removeEventListener('abort', settle)
        resolve()
      }
      this.response.on('drain', settle)
      this.over.signal.addEventListener('abort', settle, { once: true })
    })
  }

  /** A comment, unless something was written since the last beat. */
  beat(): void {
    if (this.isOpen && this.#quiet && this.buffered < this.limit) this.response.write(heartbeat)
    this.#quiet = true
  }

  end(reason: string): void {
    this.#finish(endFrame(reason))
  }

  /** The last frame is an error instead of an end. */
  fail(frame: Buffer): void {
    this.#finish(frame)
  }

  #write(frame: Buffer): boolean {
    this.#quiet = false
    return this.response.write(frame)
  }

  #finish(frame: Buffer): void {
    if (!this.isOpen) return
    this.over.abort()
    this.response.end(frame)
    this.clock.after(lastReading, () => this.response.destroy())
  }
}
