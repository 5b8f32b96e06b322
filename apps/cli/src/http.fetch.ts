import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

/**
 * What the client needs of `fetch`, over Node's own http. The global one takes 25 ms to load, and agents call this command
 * hundreds of times.
 */
export const httpFetch = async (address: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
  const url = new URL(address instanceof URL ? address.href : String(address))
  // Importing it would evaluate its getters, and with them load the global fetch after all.
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
  const { signal } = init
  const message = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = {
      method: init.method ?? 'GET',
      headers: init.headers as Record<string, string>,
      ...(signal && { signal }),
    }
    const sent = request(url, options, resolve)
    // As the global fetch does: a TypeError whose cause says what happened.
    sent.on('error', (cause) => reject(new TypeError('fetch failed', { cause })))
    sent.end(init.body as string | undefined)
  })
  return answerOf(message) as Response
}

const answerOf = (message: IncomingMessage): Partial<Response> => {
  const status = message.statusCode ?? 0
  return {
    status,
    ok: status >= 200 && status < 300,
    headers: headersOf(message),
    text: () => textOf(message),
    get body() {
      return Readable.toWeb(message) as unknown as Response['body']
    },
  }
}

const textOf = async (message: IncomingMessage): Promise<string> => {
  message.setEncoding('utf8')
  let text = ''
  for await (const piece of message) text += piece
  return text
}

const headersOf = ({ headers }: IncomingMessage): Headers => {
  const get = (name: string): string | null => {
    const value = headers[name.toLowerCase()]
    return Array.isArray(value) ? value.join(', ') : (value ?? null)
  }
  return { get } as Headers
}
