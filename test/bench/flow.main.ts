import { connect } from '@nats-io/transport-node'
import { FlowConsumer } from './flow.consumer.js'
import { ask, open, type Wire } from './load.http.js'
import { measure, quantile, type Round, roundOf } from './stats.js'
import { serveTasks } from './worker.js'

interface Flow {
  readonly wire: Wire
  readonly source: string
  readonly queue: string
  readonly count: number
  /** Of the payload's text. */
  readonly bytes: number
}

interface BusAccount {
  readonly user: string
  readonly pass: string
}

/** The daemon's bus, with the accounts of two of its services. */
interface BareBus {
  readonly server: string
  readonly asks: BusAccount
  readonly answers: BusAccount
  readonly bytes: number
  readonly count: number
}

/** What became of one tenth of a long flow. */
export interface Tenth {
  /** Events a second. */
  readonly rate: number
  /** ms from sending a batch to its last event being received. */
  readonly p50: number
  readonly p99: number
}

const pathOf = (ref: string): string => `/v1/custom-objects/${ref}`
const eventOf = (n: number, bytes: number) => ({ event: 'step', payload: { n, text: 'x'.repeat(bytes) } })
const publish = ({ wire, source, bytes }: Flow, n: number): Promise<string> =>
  ask(wire, 'POST', `${pathOf(source)}/publish`, eventOf(n, bytes))
const publishBatch = ({ wire, source, bytes }: Flow, from: number, size: number): Promise<string> =>
  ask(wire, 'POST', `${pathOf(source)}/publish-batch`, {
    events: Array.from({ length: size }, (_, at) => eventOf(from + at, bytes)),
  })

/** Asks `send` at most `width` times at once until `count` pieces are sent. */
const inLanes = async (count: number, width: number, send: (at: number) => Promise<unknown>): Promise<void> => {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) {
      const at = next
      next += 1
      await send(at)
    }
  }
  await Promise.all(Array.from({ length: width }, lane))
}

/** Streams that are held open while something else is measured. */
const held: { destroy(): void }[] = []

/** Who publishes and who receives, in a process of its own. */
const tasks = {
  /** One after the other, each when the one before is received and acknowledged: from sending it to having it. */
  roundTrip: async (flow: Flow): Promise<Round> => {
    const consumer = await FlowConsumer.open(flow.wire, flow.queue)
    const latencies: number[] = []
    const began = performance.now()
    for (let n = 1; n <= flow.count; n += 1) {
      const sent = performance.now()
      await Promise.all([publish(flow, n), consumer.arrived(n)])
      latencies.push((consumer.moments[n - 1] as number) - sent)
      await consumer.acknowledged(n)
    }
    const round = roundOf(latencies, performance.now() - began)
    consumer.close()
    return round
  },
  /** Each publisher one after the other; the time ends when all are received and acknowledged. */
  oneByOne: async (flow: Flow & { width: number }): Promise<Round> => {
    const consumer = await FlowConsumer.open(flow.wire, flow.queue)
    const answers: number[] = []
    const began = performance.now()
    await inLanes(flow.count, flow.width, async (at) => {
      const sent = performance.now()
      await publish(flow, at)
      answers.push(performance.now() - sent)
    })
    await consumer.acknowledged(flow.count)
    const round = roundOf(answers, performance.now() - began)
    consumer.close()
    return round
  },
  /** The same in batches; the rate counts events. */
  batches: async (flow: Flow & { width: number; size: number }): Promise<Round> => {
    const consumer = await FlowConsumer.open(flow.wire, flow.queue)
    const answers: number[] = []
    const began = performance.now()
    await inLanes(flow.count / flow.size, flow.width, async (at) => {
      const sent = performance.now()
      await publishBatch(flow, at * flow.size, flow.size)
      answers.push(performance.now() - sent)
    })
    await consumer.acknowledged(flow.count)
    const rate = (flow.count * 1000) / (performance.now() - began)
    consumer.close()
    return { ...roundOf(answers, 1), rate }
  },
  /** Batches without a pause, as tenths of the whole. */
  tenths: async (flow: Flow & { width: number; size: number }): Promise<Tenth[]> => {
    const consumer = await FlowConsumer.open(flow.wire, flow.queue)
    const count = flow.count / 10
    const tenths: Tenth[] = []
    for (let tenth = 0; tenth < 10; tenth += 1) {
      const before = tenth * count
      const latencies: number[] = []
      const began = performance.now()
      let sentSoFar = before
      await inLanes(count / flow.size, flow.width, async () => {
        const sent = performance.now()
        sentSoFar += flow.size
        const last = sentSoFar
        await publishBatch(flow, last, flow.size)
        await consumer.arrived(last)
        latencies.push(performance.now() - sent)
      })
      await consumer.acknowledged(before + count)
      const rate = (count * 1000) / (performance.now() - began)
      tenths.push({ rate, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) })
    }
    consumer.close()
    return tenths
  },
  /** One event to many queues that are all received: when the publisher had its answer, and when all had the event. */
  fanOut: async ({ queues, ...flow }: Omit<Flow, 'queue'> & { queues: readonly string[] }) => {
    const consumers: FlowConsumer[] = []
    await inLanes(queues.length, 20, async (at) => {
      consumers.push(await FlowConsumer.open(flow.wire, queues[at] as string))
    })
    const answers: number[] = []
    const everywhere: number[] = []
    const began = performance.now()
    for (let n = 1; n <= flow.count; n += 1) {
      const sent = performance.now()
      await publish({ ...flow, queue: '' }, n)
      answers.push(performance.now() - sent)
      await Promise.all(consumers.map((consumer) => consumer.arrived(n)))
      everywhere.push(performance.now() - sent)
      await Promise.all(consumers.map((consumer) => consumer.acknowledged(n)))
    }
    const elapsed = performance.now() - began
    for (const consumer of consumers) consumer.close()
    return { answers: roundOf(answers, elapsed), everywhere: roundOf(everywhere, elapsed) }
  },
  hold: async ({ wire, queues }: { wire: Wire; queues: readonly string[] }): Promise<void> => {
    await inLanes(queues.length, 20, async (at) => {
      const stream = await open(wire, 'GET', `${pathOf(queues[at] as string)}/receive`)
      held.push(stream.on('error', () => undefined).resume())
    })
  },
  letGo: (): void => {
    for (const stream of held.splice(0)) stream.destroy()
  },
  /** NATS by itself: one asks, another answers with the same bytes. */
  requestReply: async ({ server, asks, answers, bytes, count }: BareBus): Promise<Round> => {
    const from = await connect({ ...asks, servers: server, inboxPrefix: 'svc.inbox.gateway' })
    const to = await connect({ ...answers, servers: server })
    to.subscribe('svc.cmd.objects.bench', { callback: (_, message) => void message.respond(message.data) })
    await to.flush()
    const text = JSON.stringify(eventOf(1, bytes))
    const round = await measure(count, 1, () => from.request('svc.cmd.objects.bench', text, { timeout: 5000 }))
    await Promise.all([from.close(), to.close()])
    return round
  },
}
export type FlowTasks = typeof tasks
serveTasks(tasks)
