import { after } from '#machine/clock.js'
import type { Delta, NodesBrokerDeltasResponse } from '#sdk/generated/types.js'

export type Channel = Delta['channel']

/** Text is collected this long before it is sent (ms). */
const batchTime = 25
/** Characters that wait to be sent; above this they are dropped, and the daemon asks for the text again. */
const waitingLimit = 128 * 1024
/** Characters kept of each channel, to be sent again. */
const keptLimit = 64 * 1024

interface Part {
  readonly message: number
  readonly channel: Channel
  readonly callId: string | undefined
  /** Characters so far, counted from where the kept text could last be sent whole. */
  length: number
  kept: string
}

/**
 * What the node's engine is saying right now, for those who watch. Sent in batches, one at a time; lossy: it never holds
 * up the engine, and a failure to send is not worth a retry, since the record follows.
 */
export class DeltaFeed {
  /** Hears every piece of text as it is said, the bound of what waits notwithstanding. */
  heard: ((delta: Delta) => void) | undefined
  readonly #parts = new Map<string, Part>()
  #waiting: Delta[] = []
  #waitingLength = 0
  #message = 0
  #callOff: (() => void) | undefined
  #sending = false

  constructor(
    private readonly generation: number,
    private readonly send: (deltas: Delta[]) => Promise<NodesBrokerDeltasResponse>,
  ) {}

  /** Another message begins; what was said of the one before is in the record by now. */
  begin(): void {
    this.#message += 1
    this.#parts.clear()
    this.#drop()
  }

  /** The message is recorded now: its event says all of it, and what is said of it later would be said twice. */
  recorded(): void {
    this.#parts.clear()
    this.#drop()
  }

  push(channel: Channel, text: string, callId?: string): void {
    if (text === '') return
    const part = this.#partOf(channel, callId)
    const delta = this.#deltaOf(part, part.length, text)
    part.length += text.length
    part.kept = (part.kept + text).slice(-keptLimit)
    this.heard?.(delta)
    if (this.#waitingLength + text.length > waitingLimit) return
    this.#waitingLength += text.length
    const last = this.#waiting.at(-1)
    if (last && last.channel === channel && last.call_id === callId && last.offset + last.text.length === delta.offset)
      last.text += text
    else this.#waiting.push({ ...delta })
    this.#schedule()
  }

  /** What is being said, as far as it is kept. */
  progress(): Delta[] {
    return [...this.#parts.values()].map((part) => this.#deltaOf(part, part.length - part.kept.length, part.kept))
  }

  /** Nothing more is sent. */
  close(): void {
    this.#drop()
    this.#parts.clear()
  }

  #partOf(channel: Channel, callId: string | undefined): Part {
    const key = `${channel}/${callId ?? ''}`
    let part = this.#parts.get(key)
    if (!part) {
      part = { message: this.#message, channel, callId, length: 0, kept: '' }
      this.#parts.set(key, part)
    }
    return part
  }

  #deltaOf({ message, channel, callId }: Part, offset: number, text: string): Delta {
    return {
      generation: this.generation,
      message,
      channel,
      ...(callId !== undefined && { call_id: callId }),
      offset,
      text,
    }
  }

  #schedule(): void {
    if (this.#sending) return
    this.#callOff ??= after(batchTime, () => {
      this.#callOff = undefined
      void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    const deltas = this.#waiting.slice(0, 500)
    this.#drop()
    if (!deltas.length) return
    this.#sending = true
    try {
      const { resync } = await this.send(deltas)
      if (resync) this.#restate()
    } catch {
      // Nobody is there to hear it. The next batch leaves a gap, at which the daemon asks for the whole text.
    } finally {
      this.#sending = false
      if (this.#waiting.length) this.#schedule()
    }
  }

  /** All kept text again, from offset 0: a channel that outgrew what is kept is counted anew from there. */
  #restate(): void {
    this.#drop()
    for (const part of this.#parts.values()) {
      part.length = part.kept.length
      this.#waiting.push(this.#deltaOf(part, 0, part.kept))
    }
    this.#schedule()
  }

  #drop(): void {
    this.#callOff?.()
    this.#callOff = undefined
    this.#waiting = []
    this.#waitingLength = 0
  }
}
