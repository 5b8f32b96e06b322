import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http'

export interface Wire {
  readonly url: string
  readonly token?: string
}

/** Kept connections without a bound: the number of those who ask is the bound. */
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

/** One request by the cheapest client that Node has. Resolves with the answer's head. @throws Error for a status from 400 on. */
export const open = (wire: Wire, method: string, path: string, body?: unknown): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      ...(wire.token && { authorization: `Bearer ${wire.token}` }),
      ...(text && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    }
    const options: RequestOptions = { agent, method, headers }
    const sent = request(wire.url + path, options, (answer) => {
      if ((answer.statusCode ?? 500) < 400) return resolve(answer)
      textOf(answer).then((said) => reject(new Error(`${method} ${path}: ${answer.statusCode} ${said}`)), reject)
    })
    sent.on('error', reject)
    sent.end(text)
  })

export const textOf = (answer: IncomingMessage): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ''
    answer.setEncoding('utf8')
    answer.on('data', (chunk: string) => {
      text += chunk
    })
    answer.on('end', () => resolve(text))
    answer.on('error', reject)
  })

export const ask = async (wire: Wire, method: string, path: string, body?: unknown): Promise<string> =>
  textOf(await open(wire, method, path, body))
