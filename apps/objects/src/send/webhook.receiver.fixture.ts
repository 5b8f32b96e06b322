import { readFileSync } from 'node:fs'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { Webhook } from 'standardwebhooks'
import type { TestCertificate } from '#common/testing/certificate.js'
import type { EventMessage } from './event.message.js'

export interface Request {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The address of this machine at which it came in. */
  readonly at: string | undefined
}

type Answer = (response: ServerResponse, request: Request) => void

export const answers = {
  status:
    (status: number, body = '', headers: Record<string, string> = {}): Answer =>
    (response) =>
      response.writeHead(status, headers).end(body),
  hang: () => undefined,
  hangInBody: (response: ServerResponse) => void response.writeHead(200).write('begun'),
  reset: (response: ServerResponse) => void response.socket?.resetAndDestroy(),
  close: (response: ServerResponse) => void response.socket?.destroy(),
  endless: (response: ServerResponse) => {
    response.writeHead(200)
    const piece = Buffer.alloc(16_384, 'x')
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
    }
    response.on('drain', more).on('error', () => undefined)
    more()
  },
} as const

/** A receiver as somebody else writes one, with the library of Standard Webhooks. */
export class WebhookReceiver {
  readonly requests: Request[] = []
  /** Bytes that the last connection took in. */
  readonly sockets = new Set<Socket>()
  answer: Answer = answers.status(204)

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(options: { host?: string; tls?: TestCertificate } = {}): Promise<WebhookReceiver> {
    const { host = '127.0.0.1', tls } = options
    const server = tls
      ? createTlsServer({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) })
      : createServer({ keepAliveTimeout: 60_000 })
    await new Promise<void>((resolve) => server.listen(0, host, resolve))
    const { port } = server.address() as AddressInfo
    const receiver = new WebhookReceiver(server, `${tls ? 'https' : 'http'}://${host}:${port}/hook`)
    server.on('connection', (socket: Socket) => receiver.sockets.add(socket))
    server.on('request', (request: IncomingMessage, response: ServerResponse) => receiver.#hear(request, response))
    return receiver
  }

  get port(): string {
    return new URL(this.url).port
  }

  /** What the requests carried, in their order. */
  get messages(): EventMessage[] {
    return this.requests.map(({ body }) => JSON.parse(body) as EventMessage)
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve())
      this.server.closeAllConnections()
    })
  }

  #hear(request: IncomingMessage, response: ServerResponse): void {
    const pieces: Buffer[] = []
    request.on('error', () => undefined)
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { url = '', headers, socket } = request
      const heard = { path: url, headers, body: Buffer.concat(pieces).toString(), at: socket.localAddress }
      this.requests.push(heard)
      this.answer(response, heard)
    })
  }
}

/** What a request says, as one whose receiver knows this secret believes it. @throws WebhookVerificationError */
export const verified = (request: Request, secret: string): EventMessage =>
  new Webhook(secret).verify(request.body, request.headers as Record<string, string>) as EventMessage
