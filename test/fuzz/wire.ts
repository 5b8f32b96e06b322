import { connect, type Socket } from 'node:net'
import type { Shot } from './shot.js'

export interface WireAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** What came instead of an answer. */
export type Silence = 'hung' | 'closed' | 'unreadable'

/** Longest that an answer may take to begin, and a body to end (ms), and of an operation that is held until something happens. */
const usual = 12_000
const longest = 75_000

/** Ms after which an operation that has not answered hangs. */
const patienceFor = ({ timeout = 0 }: { readonly timeout?: number }): number =>
  Math.min(longest, Math.max(usual, timeout))

/** The length is known, or the chunks ended, or it is a stream that goes on for ever. */
const isWhole = (text: string): boolean => {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const head = text.slice(0, end)
  if (/^HTTP\/1\.1 100 /.test(head)) return isWhole(text.slice(end + 4))
  if (/^HTTP\/1\.[01] 204 /.test(head) || /^content-type: *text\/event-stream/im.test(head)) return true
  const length = /^content-length: *(\d+)/im.exec(head)?.[1]
  if (length !== undefined) return text.length - end - 4 >= Number(length)
  return /^transfer-encoding: *chunked/im.test(head) ? text.endsWith('0\r\n\r\n') : false
}

const dechunked = (body: string): string => {
  let whole = ''
  for (let at = 0; ; ) {
    const end = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.slice(at, end), 16)
    if (end < 0 || !size) return whole
    whole += body.slice(end + 2, end + 2 + size)
    at = end + 4 + size
  }
}

const read = (text: string): WireAnswer | Silence => {
  const [, status, rest] = /^HTTP\/1\.[01] (\d{3})[^\r]*\r\n(.*)$/s.exec(text) ?? []
  if (status === undefined || rest === undefined) return text === '' ? 'closed' : 'unreadable'
  const end = `\r\n${rest}`.indexOf('\r\n\r\n')
  if (status === '100') return read(rest.slice(end + 2))
  const headers = new Map(
    rest
      .slice(0, Math.max(0, end - 2))
      .split('\r\n')
      .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const body = rest.slice(end + 2)
  const length = headers.get('content-length')
  const bytes =
    headers.get('transfer-encoding') === 'chunked' ? dechunked(body) : body.slice(0, Number(length ?? Infinity))
  return { status: Number(status), headers, body: Buffer.from(bytes, 'latin1').toString('utf8') }
}

/** Writes the bytes of a request on a connection of their own and reads the first answer. */
export const exchange = (
  port: number,
  request: Uint8Array,
  { entry, ends }: Pick<Shot, 'entry' | 'ends'>,
): Promise<WireAnswer | Silence> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, timeout: patienceFor(entry) })
    let text = ''
    const settle = (answer: WireAnswer | Silence): void => {
      resolve(answer)
      socket.destroy()
    }
    socket.setEncoding('latin1').on('timeout', () => settle('hung'))
    socket.on('data', (chunk: string) => {
      text += chunk
      if (isWhole(text)) settle(read(text))
    })
    socket.on('end', () => settle(read(text)))
    socket.on('error', () => settle(read(text))).on('close', () => settle(read(text)))
    if (ends) socket.end(request)
    else socket.write(request)
  })

/** Whether a connection can take another request after this answer. */
const isReusable = ({ headers }: WireAnswer): boolean =>
  headers.get('connection') !== 'close' && !headers.get('content-type')?.startsWith('text/event-stream')

interface Open {
  readonly socket: Socket
  fresh: boolean
}

/** Whether an operation may hold its answer for longer than a lane waits. */
export const isHeld = (entry: { readonly timeout?: number }): boolean => patienceFor(entry) > usual

/** Requests one after the other, on one connection as long as it lasts. */
export class Lane {
  #open: Open | undefined

  constructor(private readonly port: number) {}

  async exchange(request: Uint8Array): Promise<WireAnswer | Silence> {
    const known = this.#open
    const answer = await this.#ask(request)
    // a connection that the server ended just then says nothing of the request
    return answer === 'closed' && known && !known.fresh ? this.#ask(request) : answer
  }

  close(): void {
    this.#open?.socket.destroy()
    this.#open = undefined
  }

  #ask(request: Uint8Array): Promise<WireAnswer | Silence> {
    const open = this.#connected()
    const { socket } = open
    return new Promise((resolve) => {
      let text = ''
      const settle = (answer: WireAnswer | Silence): void => {
        socket.removeAllListeners('data').removeAllListeners('end').removeAllListeners('timeout').off('close', onEnd)
        open.fresh = false
        if (typeof answer === 'string' || !isReusable(answer)) this.close()
        resolve(answer)
      }
      const onEnd = (): void => settle(read(text))
      socket.on('data', (chunk: string) => {
        text += chunk
        if (isWhole(text)) settle(read(text))
      })
      socket
        .on('timeout', () => settle('hung'))
        .on('end', onEnd)
        .on('close', onEnd)
      socket.write(request)
    })
  }

  #connected(): Open {
    if (this.#open?.socket.writable) return this.#open
    this.close()
    const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true, timeout: usual })
    socket.setEncoding('latin1')
    socket.on('error', () => undefined) // it is followed by the end
    this.#open = { socket, fresh: true }
    return this.#open
  }
}
