import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A provider that begins to answer and never ends, to see who hangs up. */
export interface PatientProvider {
  readonly baseUrl: string
  /** Resolves when the next request has been answered with a first word. */
  begun(): Promise<void>
  /** Resolves when that request's connection was closed from the other side. */
  left(): Promise<void>
  stop(): Promise<void>
}

const chunk = (text: string): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { role: 'assistant', content: text } }] })}\n\n`

export const startPatientProvider = async (): Promise<PatientProvider> => {
  const begun = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  const open = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    request.resume()
    open.add(response)
    response.on('close', () => {
      open.delete(response)
      left.resolve()
    })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk('well'))
    begun.resolve()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    begun: () => begun.promise,
    left: () => left.promise,
    stop: async () => {
      for (const response of open) response.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
