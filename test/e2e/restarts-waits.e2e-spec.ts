import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { MockModel } from '#common/testing/mock-model.js'
import { take, waitFor } from '#common/testing/wait-for.js'
import type { Client, Node, NodeEvent, StreamItem } from '#sdk/index.js'
import { TestDaemon } from '../support/daemon.js'
import { textOf } from '../support/daemon-processes.js'
import { Follower } from '../support/follower.js'

const patience = { timeout: 90_000 }

let daemon: TestDaemon
let mock: MockModel
let client: Client
const followers: Follower[] = []
beforeAll(async () => {
  ;[daemon, mock] = await Promise.all([TestDaemon.start(), MockModel.start()])
  client = daemon.client({ timeout: 90_000, maxRetries: 200 })
  await daemon.useModel(mock)
})
afterEach(() => {
  for (const follower of followers.splice(0)) follower.leave()
})
afterAll(() => Promise.all([daemon.stop(), mock.stop()]))

/** A program that says one word, and another one when it is let go. */
const talking = (name: string): Promise<Node> =>
  client.nodes.create({
    prompt: name,
    name,
    cwd: daemon.workDir,
    lifecycle: 'terminal',
    engine: 'exec',
    exec: { argv: ['sh', '-c', `echo before; until [ -e go-${name} ]; do sleep 0.05; done; echo after`] },
  })

const letGo = (name: string): void => writeFileSync(join(daemon.workDir, `go-${name}`), '')

const command = (...args: string[]): Follower => {
  const follower = new Follower(daemon, args)
  followers.push(follower)
  return follower
}

interface Opened {
  readonly node: Node
  /** Each by its name, to be looked at when the node has ended. */
  readonly answers: Promise<Record<string, unknown>>
  /** Those that are open all the while. */
  readonly events: Promise<NodeEvent[]>
  readonly items: Promise<StreamItem[]>
  readonly canvas: Promise<NodeEvent[]>
  readonly commands: Readonly<Record<'wait' | 'outcome' | 'watch' | 'feed', Follower>>
}

/** All that one can have open on a node. Resolves when each has reached the daemon. */
const open = async (name: string, end = 'node.done'): Promise<Opened> => {
  const node = await talking(name)
  await take(client.nodes.events(node.id), ({ type }) => type === 'tool.started')
  const { id } = node
  const isEnd = ({ type, subject }: { type: string; subject?: string }): boolean => type === end && subject === id
  let [seen, streamed] = [0, 0]
  const opened = {
    node,
    answers: allOf({
      wait: client.nodes.wait(id, { timeout: 60, status: ['done', 'dead'] }),
      waitForStatus: client.nodes.waitForStatus(id, ['done', 'dead']),
      waitForOutcome: client.nodes.waitForOutcome(id),
    }),
    events: take(
      client.nodes.events(id, { limit: 200 }, { after: '0', maxRetries: 200 }),
      (event) => {
        seen += 1
        return isEnd(event)
      },
      patience,
    ),
    items: take(
      client.nodes.stream(id, {}, { after: '0', maxRetries: 200 }),
      (item) => {
        streamed += 1
        return isEnd(item as { type: string; subject?: string })
      },
      patience,
    ),
    canvas: take(client.canvas.events({ under: id, since: node.created_at }, { maxRetries: 200 }), isEnd, patience),
    commands: {
      wait: command('node', 'wait', id, '--status', 'done,dead'),
      outcome: command('node', 'outcome', id, '--wait'),
      watch: command('node', 'watch', id),
      feed: command('feed', '--json', '--since', node.created_at, '--under', id),
    },
  }
  await waitFor(() => seen > 0 && streamed > 0, { what: 'the streams' })
  await opened.commands.watch.shows('before')
  await opened.commands.feed.shows('tool.started')
  return opened
}

const allOf = async (promises: Record<string, Promise<unknown>>): Promise<Record<string, unknown>> =>
  Object.fromEntries(await Promise.all(Object.entries(promises).map(async ([name, one]) => [name, await one])))

const expectWhole = (events: readonly NodeEvent[]): void =>
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1))

/** Everything that was open says how the node ended, the streams without a gap. */
const expectAnswered = async ({ node, answers, events, items, canvas, commands }: Opened): Promise<void> => {
  expect(await answers).toMatchObject({
    wait: { reached: true, node: { id: node.id, status: 'done' } },
    waitForStatus: { id: node.id, status: 'done' },
    waitForOutcome: { settled: true, status: 'done', final_report: { body: 'before\nafter' } },
  })
  expectWhole(await events)
  expectWhole(await canvas)
  expectWhole((await items).filter((item): item is NodeEvent => 'seq' in item && item.seq !== undefined))
  expect(await commands.wait.ends()).toBe(0)
  expect(commands.wait.text).toBe(`${node.id}  done\n`)
  expect(await commands.outcome.ends()).toBe(0)
  expect(commands.outcome.text).toContain('before\nafter')
  expect(await commands.watch.ends()).toBe(0)
  expect(commands.watch.text).toMatch(/before[\s\S]*after/)
  await commands.feed.shows('"node.done"')
  expectWhole(commands.feed.records<NodeEvent>())
}

const restarts: Readonly<Record<string, () => Promise<void>>> = {
  'the daemon, by SIGTERM': async () => {
    process.kill(daemon.processes.find('daemon')?.pid as number, 'SIGTERM')
    await daemon.startAgain()
    // what only waits is sent away at once, and asks again
    expect(textOf(join(daemon.data.log, 'daemon.log'))).not.toContain('requests did not finish in time')
  },
  'the daemon, by SIGKILL': async () => {
    daemon.processes.kill('daemon')
    await daemon.startAgain()
  },
  ...Object.fromEntries(
    (['nats', 'redis', 'postgres'] as const).map((name) => [
      name,
      async () => {
        const before = daemon.processes.find(name)?.pid
        daemon.processes.kill(name)
        const isBack = async (): Promise<boolean> => {
          const now = daemon.processes.find(name)?.pid
          return now !== undefined && now !== before && (await client.system.status()).ready
        }
        await waitFor(isBack, { ...patience, what: `${name} again` })
      },
    ]),
  ),
}

describe('what was opened before a restart', () => {
  it.each(Object.keys(restarts))('of %s answers as if there had been none', async (what) => {
    const name = what.replaceAll(/\W+/g, '-')
    const opened = await open(name)
    await restarts[what]?.()
    letGo(name)
    await expectAnswered(opened)
  })

  it('is answered while the daemon is away: the node has ended when it comes back', async () => {
    const opened = await open('away')
    daemon.processes.kill('daemon')
    letGo('away')
    await waitFor(() => daemon.processes.find('daemon') === undefined, { what: 'the end of the daemon' })
    await daemon.startAgain()
    await expectAnswered(opened)
  })

  it('of the host says that the program was lost with it', async () => {
    const { answers, events, items, canvas, commands } = await open('host', 'node.dead')
    daemon.processes.kill('host')
    expect(await answers).toMatchObject({
      wait: { reached: true, node: { status: 'dead' } },
      waitForStatus: { status: 'dead' },
      waitForOutcome: { settled: true, status: 'dead', error: { message: expect.stringMatching(/was lost/) } },
    })
    for (const all of [await events, await canvas]) expectWhole(all)
    await items
    expect(await commands.wait.ends()).toBe(0)
    expect(commands.wait.text).toContain('  dead\n')
    expect(await commands.outcome.ends()).toBe(1)
    await commands.feed.shows('"node.dead"')
  })
})

describe('the wait of a node itself', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)('whose time passes during a restart by %s ends after it', async (how) => {
    mock.deciding(({ user, said }) => {
      if (!user[0]?.includes(`rest over ${how}`)) return undefined
      return said === 0
        ? { toolCalls: [{ name: 'wait', input: { timeout: 4, reason: 'the restart' } }] }
        : { toolCalls: [{ name: 'report', input: { kind: 'final', body: 'it is later' } }] }
    })
    const { id } = await client.nodes.create({
      prompt: `rest over ${how}`,
      cwd: daemon.workDir,
      lifecycle: 'terminal',
    })
    const outcome = client.nodes.waitForOutcome(id)
    const { waiting } = await client.nodes.waitForStatus(id, ['idle'])
    expect(waiting?.reason).toBe('the restart')
    process.kill(daemon.processes.find('daemon')?.pid as number, how)
    await waitFor(() => Date.parse(String(waiting?.until)) < performance.timeOrigin + performance.now(), {
      what: 'the end of its time',
    })
    await daemon.startAgain()
    expect(await outcome).toMatchObject({ status: 'done', final_report: { body: 'it is later' } })
    expect((await client.nodes.retrieve(id)).cycles).toBe(2)
  })
})
