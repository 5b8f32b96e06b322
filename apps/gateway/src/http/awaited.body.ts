import type { IncomingMessage, ServerResponse } from 'node:http'

const waiting = new WeakMap<IncomingMessage, ServerResponse>()

/** The client asked whether its body is wanted (`Expect: 100-continue`), and sends it when it hears so. */
export const holdBody = (request: IncomingMessage, response: ServerResponse): void => {
  waiting.set(request, response)
}

/** Lets a body come that was held back: only now, when token, gate and size are in order. */
export const wantBody = (request: IncomingMessage): void => {
  waiting.get(request)?.writeContinue()
  waiting.delete(request)
}
