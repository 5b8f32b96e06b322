import type { Socket } from 'node:net'
import { every } from '../clock.js'
import type { ViewerLine } from './viewer.items.js'

/** How often (ms) who controls says that it is still there. */
const beatEvery = 5000

/** One viewer's end of a node's socket. */
export class ViewerSocket {
  #rest = ''
  #controls = false
  readonly #waiting: string[] = []
  readonly #callOff: () => void

  private constructor(
    private readonly socket: Socket,
    private readonly ticket: string,
    private readonly onLine: (line: ViewerLine) => void,
  ) {
    this.#callOff = every(beatEvery, () => this.#controls && this.#say({ type: 'beat' }))
    socket.setEncoding('utf8').on('data', (piece: string) => this.#read(piece))
  }

  /** Undefined when there is no such socket on this machine, or none for this account. */
  static async open(
    path: string,
    ticket: string,
    onLine: (line: ViewerLine) => void,
  ): Promise<ViewerSocket | undefined> {
    const { connect } = await import('node:net')
    const socket = connect(path)
    const opened = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    return opened ? new ViewerSocket(socket, ticket, onLine) : undefined
  }

  /** Resolves when the other side has closed, or it broke. */
  get closed(): Promise<void> {
    return new Promise((resolve) => {
      this.socket.on('error', () => undefined)
      this.socket.once('close', () => {
        this.#callOff()
        resolve()
      })
    })
  }

  /** Says something for the owner; takes control first where that isn't had. */
  ask(line: Readonly<Record<string, unknown>>): void {
    if (this.#controls) this.#say(line)
    else {
      if (this.#waiting.length === 0) this.#say({ type: 'control', ticket: this.ticket })
      this.#waiting.push(JSON.stringify(line))
    }
  }

  leave(): void {
    this.socket.destroy()
  }

  #say(line: Readonly<Record<string, unknown>>): void {
    this.socket.write(`${JSON.stringify(line)}\n`)
  }

  #read(piece: string): void {
    const lines = (this.#rest + piece).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const text of lines) {
      const line = JSON.parse(text) as ViewerLine
      if (line.type === 'controlled') this.#controlled(line.by_you === true)
      if (line.type === 'error' && !this.#controls) this.#waiting.length = 0
      this.onLine(line)
    }
  }

  #controlled(byMe: boolean): void {
    this.#controls = byMe
    if (byMe) for (const waiting of this.#waiting.splice(0)) this.socket.write(`${waiting}\n`)
  }
}
