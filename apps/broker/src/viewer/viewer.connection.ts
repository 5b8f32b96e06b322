import type { Socket } from 'node:net'
import { LineReader } from './line.reader.js'
import { LineFault, lineOf, type ViewerLine } from './viewer.message.js'

/** Bytes that may wait for a viewer; one that takes no more is dropped, so that nobody waits for it. */
const queueLimit = 1024 * 1024
/** Characters of one line from a viewer: the longest message there is, with room for its escapes. */
const lineLimit = 1024 * 1024

export interface ConnectionListener {
  onLine(line: ViewerLine): void
  onClosed(): void
}

/** One viewer at the socket. */
export class ViewerConnection {
  /** Said by it and not answered yet. */
  asked = 0
  #open = true

  constructor(
    private readonly socket: Socket,
    listener: ConnectionListener,
  ) {
    const reader = new LineReader(
      lineLimit,
      (text) => this.#read(text, listener),
      () => this.fault(new LineFault('line_too_long', `A line holds at most ${lineLimit} characters.`)),
    )
    socket.setEncoding('utf8').on('data', (piece: string) => reader.push(piece))
    // a connection that breaks is closed, too
    socket.on('error', () => undefined)
    socket.once('close', () => {
      this.#open = false
      listener.onClosed()
    })
  }

  send(message: Readonly<Record<string, unknown>>): void {
    this.write(`${JSON.stringify(message)}\n`)
  }

  /** A line that was made for several. */
  write(line: string): void {
    if (!this.#open) return
    if (this.socket.writableLength > 0 && this.socket.writableLength + line.length > queueLimit) this.drop()
    else this.socket.write(line)
  }

  fault(fault: { readonly code: string; readonly message: string }, ref?: string | number): void {
    this.send({ type: 'error', code: fault.code, message: fault.message, ...(ref !== undefined && { ref }) })
  }

  /** At once, with what waits for it. */
  drop(): void {
    this.#open = false
    this.socket.destroy()
  }

  end(reason: string): void {
    this.send({ type: 'bye', reason })
    this.#open = false
    this.socket.end()
  }

  #read(text: string, listener: ConnectionListener): void {
    try {
      listener.onLine(lineOf(text))
    } catch (error) {
      if (!(error instanceof LineFault)) throw error
      this.fault(error)
    }
  }
}
