import type { ErrorCode } from '#common/contract/errors.js'
import type { Operation } from '#common/contract/index.js'

export type Header = readonly [name: string, value: string]

/** One request, as it goes over the wire. */
export interface Shot {
  readonly entry: Operation
  /** What is wrong with it. */
  readonly what: string
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly version?: string
  readonly headers: readonly Header[]
  readonly body?: Uint8Array
  /** Whether it is sent on a connection of its own. */
  readonly alone?: boolean
  /** Whether no answer but the end of the connection will do too. */
  readonly mayClose?: boolean
  /** Tokens that are good no more, with what each is told. */
  readonly spent?: readonly { readonly token: string; readonly code: ErrorCode }[]
  /** Tokens of others, that may do something or nothing. */
  readonly others?: readonly string[]
  /** Whether it is sent with the token of somebody whom nothing is known of. */
  readonly ofAnybody?: boolean
  /** Whether the client closes its side after the last byte. */
  readonly ends?: boolean
  /** The codes that it must be refused with; without them, whatever the contract documents for the route. */
  readonly codes?: readonly ErrorCode[]
  /** Codes that it may be refused with besides. */
  readonly also?: readonly ErrorCode[]
}

const carriesBody = ({ headers }: Shot): boolean =>
  headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name))

/** Header values are bytes. */
export const bytesOf = (shot: Shot): Buffer => {
  const { method, target, version = 'HTTP/1.1', body = new Uint8Array() } = shot
  const length: Header[] = body.length && !carriesBody(shot) ? [['Content-Length', String(body.length)]] : []
  const lines = [...shot.headers, ...length].map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`${method} ${target} ${version}\r\n${lines.join('')}\r\n`, 'latin1'), body])
}

export const withHeader = (shot: Shot, name: string, ...values: string[]): Shot => ({
  ...shot,
  headers: [
    ...shot.headers.filter(([other]) => other.toLowerCase() !== name.toLowerCase()),
    ...values.map((value): Header => [name, value]),
  ],
})
