import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { MockModel } from '#common/testing/mock-model.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client, Node, NodeEvent } from '#sdk/index.js'
import { run, svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'
import { Follower } from '../support/follower.js'
import { OtlpReceiver } from '../support/otlp-receiver.js'

const patience = { timeout: 60_000 }
const trace = '4bf92f3577b34da6a3ce929d0e0e4736'

let daemon: TestDaemon
let mock: MockModel
let collector: OtlpReceiver
let client: Client
let screen: Follower
beforeAll(async () => {
  ;[mock, collector] = await Promise.all([MockModel.start(), OtlpReceiver.start()])
  daemon = await TestDaemon.start({ env: { SVC_BROKER_WARM: '0', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
  client = daemon.client({ timeout: 90_000 })
  await daemon.useModel(mock)
  screen = new Follower(daemon, ['canvas', 'watch', '--since', '1m'])
})
afterAll(async () => {
  screen.leave()
  await daemon.stop()
  await Promise.all([mock.stop(), collector.stop()])
})

const says = async (...args: string[]): Promise<string> => {
  const end = await svc(daemon, args)
  expect({ ...end, args }).toMatchObject({ code: 0 })
  return end.stdout
}
const registered = async (...args: string[]): Promise<string> =>
  JSON.parse(await says('custom-object', 'register', ...args, '--json')).publish_token

/** Publishes with nothing but curl and the publish token. */
const curl = async (token: string, ref: string, body: object, headers: readonly string[] = []) => {
  const told = ['Content-Type: application/json', `Authorization: Bearer ${token}`, ...headers]
  const url = `${daemon.baseUrl}/v1/custom-objects/${ref}/publish`
  const { stdout } = await run('curl', [
    ...['-s', '--noproxy', '*', url, '-d', JSON.stringify(body)],
    ...told.flatMap((line) => ['-H', line]),
  ])
  return JSON.parse(stdout)
}

const asleep = (id: string, cycles: number): Promise<Node> =>
  waitFor(
    async () => {
      const node = await client.nodes.retrieve(id)
      return node.status === 'idle' && node.broker === null && node.cycles === cycles && node
    },
    { ...patience, what: `${id} asleep` },
  )

const eventsOf = async (id: string): Promise<NodeEvent[]> => {
  const found: NodeEvent[] = []
  for await (const event of client.nodes.events(id).recorded()) found.push(event)
  return found
}

describe('an agent that watches an object', () => {
  it('sleeps at no cost until an event comes, acts on it and reports, and all of it can be seen', async () => {
    const token = await registered('build-server', '--event', 'build.failed', '--event', 'build.fixed')
    mock.deciding(({ user, tool, said }) => {
      if (!user[0]?.includes('mind the build')) return undefined
      if (said === 0) {
        const args = ['canvas', 'watch', 'build-server', '--events', 'build.failed']
        return { toolCalls: [{ name: 'svc', input: { args } }] }
      }
      if (!user.some((text) => text.includes('build.failed'))) return { text: 'I wait for a failure.' }
      const [, log, reported] = tool
      if (log === undefined) return { toolCalls: [{ name: 'bash', input: { command: 'cat build.log' } }] }
      const report = { kind: 'update', body: `It says: ${/undefined reference/.exec(log)}.` }
      return reported === undefined ? { toolCalls: [{ name: 'report', input: report }] } : { text: 'I go on waiting.' }
    })
    writeFileSync(join(daemon.workDir, 'build.log'), 'undefined reference to `main`\n')

    const { id } = await client.nodes.create({
      ...{ prompt: 'mind the build', name: 'minder', cwd: daemon.workDir, lifecycle: 'resident' },
      scopes: ['svc:llm', 'svc:act', `svc:files:rw:user:${daemon.workDir}`],
    })
    await asleep(id, 1)
    expect(await says('canvas', 'watches', id)).toMatch(/watches +build-server \(obj_\w+\) +build\.failed +normal/)
    await waitFor(() => daemon.processes.brokers().length === 0, { ...patience, what: 'no process of any node' })
    const asked = mock.requests().length

    const fixed = await curl(token, 'build-server', { event: 'build.fixed', payload: {} })
    const failed = await curl(token, 'build-server', { event: 'build.failed', payload: { id: 7 } }, [
      `traceparent: 00-${trace}-00f067aa0ba902b7-01`,
    ])
    expect([fixed, failed]).toMatchObject([
      { seq: 1, duplicate: false },
      { seq: 2, duplicate: false },
    ])

    await screen.shows('It says: undefined reference.')
    await asleep(id, 2)
    const mail = (await eventsOf(id)).filter(({ type, data }) => type === 'message.accepted' && data.kind === 'event')
    expect(mail.map(({ data }) => data.source)).toEqual([
      {
        ...{ kind: 'object', id: expect.stringMatching(/^obj_/), name: 'build-server' },
        event: { id: failed.event_id, name: 'build.failed', trace_id: trace },
      },
    ])
    expect(mock.requests().length).toBeGreaterThan(asked)
    const lines = screen.text.split('\n').filter((line) => line.includes('minder'))
    const story = [
      `message.accepted +normal event: build\\.failed of build-server \\(${failed.event_id}\\), trace ${trace}$`,
      'tool.started +bash cat build.log$',
      'tool.ended +bash completed',
      'report.pushed +update: It says: undefined reference\\.$',
    ].map((text) => new RegExp(text))
    const found = story.map((text) => lines.findIndex((line) => text.test(line)))
    expect([found, lines]).toEqual([[...found].sort((one, other) => one - other), lines])
    expect(found).not.toContain(-1)
    expect(await says('custom-object', 'events', 'build-server')).toMatch(
      new RegExp(`2 .* build\\.failed +${failed.event_id} +its token +${trace} +\\{"id":7\\}`),
    )
  })

  it('is one trace, from the request that published to the report', async () => {
    const steps = [
      'POST /v1/custom-objects/{ref}/publish',
      'customObjects.publish',
      'deliver build.failed',
      'nodes.broker.modelCall',
      'nodes.reports.push',
    ]
    const seen = (): true => {
      expect(collector.namesOf(trace)).toEqual(expect.arrayContaining(steps))
      return true
    }
    await waitFor(seen, { ...patience, what: 'each step among the spans' })
  })

  it('is told once of each event, also when the daemon is killed in between', async () => {
    const token = await registered('counter', '--event', 'counted')
    mock.deciding(({ user }) => (user[0]?.includes('count with me') ? { text: 'Noted.' } : undefined))
    const { id } = await client.nodes.create({
      ...{ prompt: 'count with me', name: 'clerk', cwd: daemon.workDir, lifecycle: 'resident', scopes: ['svc:llm'] },
    })
    await asleep(id, 1)
    await says('canvas', 'watch', 'counter', '--by', id)

    for (let n = 1; n <= 10; n++) {
      await curl(token, 'counter', { event: 'counted', payload: { n } })
      if (n !== 5) continue
      daemon.processes.kill('daemon')
      await daemon.startAgain()
    }

    const counted = async () =>
      (await eventsOf(id))
        .filter(({ type, data }) => type === 'message.accepted' && data.kind === 'event')
        .map(({ data }) => Number(/"n": (\d+)/.exec(String(data.body))?.[1]))
    await waitFor(async () => (await counted()).length >= 10, { ...patience, what: 'ten mails' })
    expect(await counted()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    await waitFor(async () => (await client.nodes.retrieve(id)).status === 'idle', patience)
  })
})

describe('an object that watches an agent', () => {
  it('is given its reports and how it lives, by a trace of their own', async () => {
    const node = await client.nodes.create({
      ...{ prompt: 'wait for me', name: 'reporter', cwd: daemon.workDir, lifecycle: 'resident', scopes: ['svc:llm'] },
      ...{ engine: 'exec', exec: { argv: ['sh', '-c', 'read line; svc push "report 1"; echo report 2'] } },
    })
    // what it does before it is watched is none of its reports
    await client.nodes.waitForStatus(node.id, ['idle'])
    await registered('chat', '--queue', '--watch', `${node.id}=report.pushed,node.done,node.idle`)
    await client.nodes.message(node.id, { body: 'go\n' })

    const seen: { event: string; source: string | null; body: unknown }[] = []
    for await (const { id, event, source_ref, source_name, payload } of client.customObjects.receive('chat')) {
      expect(source_ref).toBe(node.id)
      seen.push({ event, source: source_name, body: (payload as { body?: unknown }).body })
      await client.customObjects.ack('chat', [id])
      if (event !== 'report.pushed') break
    }
    expect(seen.slice(0, -1).map(({ body }) => body)).toContain('report 1')
    expect((await client.customObjects.retrieve('chat')).receiver_state).toMatchObject({ pending: 0, status: 'active' })
  })
})
