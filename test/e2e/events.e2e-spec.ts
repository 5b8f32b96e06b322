import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { take, waitFor } from '#common/testing/wait-for.js'
import type { Client } from '#sdk/index.js'
import { TestDaemon } from '../support/daemon.js'
import type { ProcessName } from '../support/daemon-processes.js'
import { EventWatch } from '../support/event-watch.js'

let daemon: TestDaemon
let client: Client
let node: string
let watch: EventWatch

beforeAll(async () => {
  daemon = await TestDaemon.start()
  client = daemon.client({ maxRetries: 50 })
  // Each message to it is an event, and another one when its program has it.
  ;({ id: node } = await client.nodes.create({
    prompt: 'listen',
    cwd: daemon.workDir,
    engine: 'exec',
    exec: { argv: ['sh', '-c', 'while read line; do :; done'] },
  }))
  await take(client.nodes.events(node), ({ type }) => type === 'tool.started')
  watch = new EventWatch({ baseUrl: daemon.baseUrl, token: daemon.token, node })
})
afterAll(async () => {
  await watch.stop()
  await daemon.stop()
})

/** Two more messages, and the watcher has seen all that came of them. */
const seeMore = async (): Promise<void> => {
  for (const body of ['one', 'two']) await client.nodes.message(node, { body })
  const last = await waitFor(
    async () => {
      const { data } = await client.nodes.events(node, { limit: 200 }).recorded()
      const bodies = data.filter(({ type, data }) => type === 'message.completed' && data.role === 'user')
      const accepted = data.filter(({ type }) => type === 'message.accepted')
      return accepted.length > 0 && bodies.length > 0 && data.at(-1)?.seq
    },
    { what: 'events of the messages' },
  )
  await watch.until(last, 60_000)
}

const expectEachOnce = (): void => {
  expect(watch.seqs).toEqual(Array.from({ length: watch.last }, (_, at) => at + 1))
}

describe('GET /v1/nodes/{id}/events, read live', () => {
  it('goes on after the last event when the connection was cut', async () => {
    await seeMore()
    const before = watch.connections
    watch.cut()
    await seeMore()

    expect(watch.connections).toBeGreaterThan(before)
    expectEachOnce()
  })

  it.each<ProcessName>(['nats', 'redis', 'postgres', 'host', 'daemon'])(
    'shows each event exactly once over a kill of %s',
    async (name) => {
      const before = daemon.processes.find(name)
      expect(daemon.processes.kill(name)).toBe(true)
      if (name === 'daemon') await daemon.startAgain()
      await waitFor(
        () => {
          const now = daemon.processes.find(name)
          return now && now.pid !== before?.pid
        },
        { what: `another ${name}` },
      )

      await seeMore()

      expectEachOnce()
    },
  )

  it('has shown the same events that the pages hold', async () => {
    const pages: number[] = []
    for await (const { seq } of client.nodes.events(node, { limit: 5 }).recorded()) pages.push(seq)

    await watch.until(pages.at(-1) as number, 60_000)

    expect(watch.seqs.slice(0, pages.length)).toEqual(pages)
  })
})
