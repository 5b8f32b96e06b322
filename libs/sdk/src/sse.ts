import { ConnectionError } from './errors.js'

/** One server-sent event, as the standard's parser dispatches it; or an id alone, with no data, which moves the position. */
export interface ServerSentEvent {
  readonly id: string | undefined
  readonly name: string
  readonly data: string
}

/**
 * Reads `text/event-stream` piece by piece; pieces may end anywhere. A line ends with LF, CRLF or CR; a CR at the very end
 * waits, since its LF may come with the next piece.
 */
export class EventParser {
  #rest = ''
  #first = true
  #id: string | undefined
  #name = ''
  #data: string[] = []

  /** Events that this piece completes. */
  push(piece: string): ServerSentEvent[] {
    const events: ServerSentEvent[] = []
    let text = this.#rest + piece
    if (this.#first && text !== '') {
      this.#first = false
      if (text.startsWith('\uFEFF')) text = text.slice(1)
    }
    const lineEnd = /\r\n|\n|\r(?!$)/g
    // What waited holds no end of a line but maybe its last character, so that a long line is looked at once.
    lineEnd.lastIndex = Math.max(0, this.#rest.length - 1)
    let from = 0
    for (let end = lineEnd.exec(text); end; end = lineEnd.exec(text)) {
      this.#line(text.slice(from, end.index), events)
      from = lineEnd.lastIndex
    }
    this.#rest = text.slice(from)
    return events
  }

  #line(line: string, events: ServerSentEvent[]): void {
    if (line === '') {
      if (this.#data.length || this.#id)
        events.push({ id: this.#id, name: this.#name || 'message', data: this.#data.join('\n') })
      this.#id = undefined
      this.#name = ''
      this.#data = []
      return
    }
    const colon = line.indexOf(':')
    if (colon === 0) return
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') this.#data.push(value)
    else if (field === 'event') this.#name = value
    else if (field === 'id' && !value.includes('\0')) this.#id = value
  }
}

/**
 * Events of a response's body. Leaving the loop closes the connection.
 *
 * @throws ConnectionError when the connection breaks
 * @param onPiece called for every piece that arrives, heartbeats included
 */
export async function* eventsOf(
  body: ReadableStream<Uint8Array>,
  onPiece: () => void,
): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const parser = new EventParser()
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause) => {
        throw new ConnectionError('the stream broke off', { cause })
      })
      if (done) return
      onPiece()
      yield* parser.push(decoder.decode(value, { stream: true }))
    }
  } finally {
    // A body whose connection broke can't be canceled any more; the reason is being thrown already.
    await reader.cancel().catch(() => undefined)
  }
}
