import type { IncomingMessage } from 'node:http'
import { ask, open, type Wire } from './load.http.js'
import { type Round, roundOf } from './stats.js'

interface Watch {
  readonly wire: Wire
  readonly node: string
  readonly clients: number
  readonly messages: number
}

const marker = 'event: message.accepted'

/**
 * Opens streams of one node, then sends it messages, each when all clients have seen the one before. A latency is from
 * the moment a message is sent to the moment one client has its event; the rate counts events over all clients.
 */
export const watchMessages = async ({ wire, node, clients, messages }: Watch): Promise<Round> => {
  const path = `/v1/nodes/${node}`
  const crowd = new Crowd(clients)
  const streams = await Promise.all(Array.from({ length: clients }, () => open(wire, 'GET', `${path}/stream`)))
  for (const stream of streams) crowd.add(stream)
  const latencies: number[] = []
  const send = (body: string) => ask(wire, 'POST', `${path}/message`, { body, tier: 'deferred' })
  // The first is for those whose snapshot was still under way.
  await Promise.all([crowd.all(), send('warm-up')])
  const began = performance.now()
  for (let at = 0; at < messages; at += 1) {
    const sent = performance.now()
    const seen = crowd.all()
    await Promise.all([seen, send(`message ${at}`)])
    for (const moment of await seen) latencies.push(moment - sent)
  }
  const round = roundOf(latencies, performance.now() - began)
  for (const stream of streams) stream.destroy()
  return round
}

/** Clients that wait for one event each. */
class Crowd {
  #moments: number[] = []
  #all = Promise.withResolvers<number[]>()

  constructor(private readonly size: number) {}

  add(stream: IncomingMessage): void {
    stream.setEncoding('latin1')
    stream.on('error', () => undefined)
    let before = ''
    stream.on('data', (chunk: string) => {
      const text = before + chunk
      for (let at = text.indexOf(marker); at >= 0; at = text.indexOf(marker, at + 1)) this.#hear()
      before = text.slice(1 - marker.length)
    })
  }

  /** Resolves with the moments at which each saw the next event. */
  all(): Promise<number[]> {
    this.#moments = []
    this.#all = Promise.withResolvers<number[]>()
    return this.#all.promise
  }

  #hear(): void {
    this.#moments.push(performance.now())
    if (this.#moments.length === this.size) this.#all.resolve(this.#moments)
  }
}
