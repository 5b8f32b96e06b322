import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client, Delivery, ObjectBody, RegisteredObject } from '#sdk/index.js'
import { type CommandEnd, run, svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'
import { Follower } from '../support/follower.js'

const patience = { timeout: 60_000 }
const schema = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] }
const catalog = [{ event: 'build.failed', payload_schema: schema }, { event: 'build.fixed' }]

let daemon: TestDaemon
let client: Client
let made = 0
beforeAll(async () => {
  daemon = await TestDaemon.start()
  client = daemon.client({ timeout: 90_000 })
})
afterAll(() => daemon.stop())

const register = (more: Partial<ObjectBody> = {}): Promise<RegisteredObject> => {
  made += 1
  return client.customObjects.register({ name: `object-${made}`, ...more })
}
const publisher = (): Promise<RegisteredObject> => register({ catalog })
const queueOf = (...sources: string[]): Promise<RegisteredObject> =>
  register({ receiver: { type: 'queue' }, watches: sources.map((source) => ({ source })) })
const failed = (id: number, more: object = {}) => ({ event: 'build.failed', payload: { id }, ...more })

const command = (args: readonly string[], options: Parameters<typeof svc>[2] = {}): Promise<CommandEnd> =>
  svc(daemon, ['custom-object', ...args], options)
const says = async (...args: string[]): Promise<string> => {
  const end = await command(args)
  expect({ ...end, args }).toMatchObject({ code: 0 })
  return end.stdout
}
const numberIn = ({ payload }: Delivery): number => (payload as { id: number }).id

/** So many deliveries as a fresh connection gives them; left alone. */
const waiting = async (ref: string, count: number, after?: number): Promise<Delivery[]> => {
  const found: Delivery[] = []
  for await (const delivery of client.customObjects.receive(ref, after === undefined ? {} : { after })) {
    found.push(delivery)
    if (found.length === count) break
  }
  return found
}

describe('an event', () => {
  it('published with the token alone reaches a queue, and comes again until it is acknowledged', async () => {
    const source = await publisher()
    const queue = await queueOf(source.id)
    const alone = daemon.client({ token: source.publish_token as string })

    const accepted = await alone.customObjects.publish(source.name, failed(1, { dedupe_key: 'one' }))
    const again = await alone.customObjects.publish(source.name, failed(2, { dedupe_key: 'one' }))
    await alone.customObjects.publishBatch(source.id, { events: [failed(2), failed(3)] })

    expect(accepted).toMatchObject({ seq: 1, duplicate: false })
    expect(again).toEqual({ ...accepted, duplicate: true })
    const first = await waiting(queue.name, 3)
    expect(first.map((one) => [one.seq, numberIn(one), one.source_name, one.state])).toEqual(
      [1, 2, 3].map((n) => [n, n, source.name, 'pending']),
    )
    expect(await waiting(queue.name, 3)).toEqual(first)
    const ids = first.map(({ id }) => id)
    expect(await client.customObjects.ack(queue.id, ids.slice(0, 2))).toEqual({ acknowledged: 2, unknown: [] })
    expect(await client.customObjects.ack(queue.id, [...ids.slice(0, 2), 'dlv_0000000000000zzzzzzzzzzzzz'])).toEqual({
      acknowledged: 0,
      unknown: ['dlv_0000000000000zzzzzzzzzzzzz'],
    })
    expect((await waiting(queue.name, 1)).map(numberIn)).toEqual([3])
    expect((await waiting(queue.name, 2, 1)).map(numberIn)).toEqual([2, 3])
    expect((await client.customObjects.retrieve(queue.id)).receiver_state?.pending).toBe(1)
  })

  it('is published and taken by the command, one or a thousand, with nothing but the token', async () => {
    writeFileSync(join(daemon.workDir, 'failed.json'), JSON.stringify(schema))
    const source = JSON.parse(await says('register', 'builds', '--event', 'build.failed=failed.json', '--json'))
    await says('register', 'alarm', '--watch', 'builds=build.failed', '--queue')
    const alone = { env: { SVC_TOKEN: source.publish_token } }

    const one = await command(['publish', 'builds', 'build.failed', '--payload', '{"id":0}'], alone)
    const lines = Array.from({ length: 999 }, (_, id) => JSON.stringify({ id: id + 1 })).join('\n')
    const many = await command(['publish', 'builds', 'build.failed', '--lines'], { ...alone, input: lines })

    expect([one.code, many.code, many.stdout]).toEqual([0, 0, '999 accepted\n'])
    const left = await command(['receive', 'alarm', '-n', '2', '--json'])
    expect(left.stdout.split('\n').filter(Boolean)).toHaveLength(2)
    const taken = await command(['receive', 'alarm', '--ack', '-n', '1000', '--json'])
    const numbers = taken.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => numberIn(JSON.parse(line)))
    expect(numbers).toEqual(Array.from({ length: 1000 }, (_, id) => id))
    expect(await says('show', 'alarm')).toMatch(/^waiting +0 of at most 100000$/m)
    expect(await says('deliveries', 'alarm', '--limit', '1')).toMatch(/^1000 +dlv_\w+ +acked +build\.failed +builds/m)
  })

  // What a reader behind a pipe never got must not be acknowledged.
  it('is acknowledged by the command only once it is written', async () => {
    const source = await publisher()
    const queue = await queueOf(source.id)
    // more than a pipe holds: it must not be all written before `head` has left
    const log = 'x'.repeat(10_000)
    const events = Array.from({ length: 20 }, (_, id) => ({ event: 'build.failed', payload: { id, log } }))
    await client.customObjects.publishBatch(source.id, { events })
    const receive = `"$0" custom-object receive ${queue.name} --ack --json | head -n 1`
    const { stdout } = await run('sh', ['-c', receive, join(process.cwd(), 'bin/svc')], {
      env: { ...daemon.env, SVC_BASE_URL: daemon.baseUrl },
    })
    const got = numberIn(JSON.parse(stdout))
    expect(got).toBe(0)
    // the pipe itself holds some that `head` has taken and thrown away; their acknowledgement may be on its way still
    await waitFor(async () => {
      const { receiver_state } = await client.customObjects.retrieve(queue.id)
      const [next] = await waiting(queue.name, 1)
      return receiver_state?.pending === 20 - numberIn(next as Delivery)
    })
  })

  it('is lost by no restart of the daemon: who receives goes on, and has each in its order', async () => {
    const source = await publisher()
    const queue = await queueOf(source.id)
    const screen = new Follower(daemon, ['custom-object', 'receive', queue.name, '--after', '0', '--json'])
    const seen: number[] = []
    const reading = (async () => {
      for await (const delivery of client.customObjects.receive(queue.name, { maxRetries: 100 })) {
        await client.customObjects.ack(queue.id, [delivery.id], { maxRetries: 100 })
        if (numberIn(delivery) !== seen.at(-1)) seen.push(numberIn(delivery))
        if (seen.length === 60) return
      }
    })()

    for (let id = 1; id <= 60; id++) {
      await client.customObjects.publish(source.id, failed(id), { maxRetries: 100 })
      if (id % 20 !== 0 || id === 60) continue
      daemon.processes.kill('daemon')
      await daemon.startAgain()
    }

    await reading
    expect(seen).toEqual(Array.from({ length: 60 }, (_, id) => id + 1))
    // who looks on behind a position has them all, whoever acknowledges them
    await screen.shows('"id":60')
    screen.leave()
    expect(new Set(screen.records<Delivery>().map(numberIn))).toEqual(new Set(seen))
    expect((await client.customObjects.retrieve(queue.id)).receiver_state?.pending).toBe(0)
  })
})

describe('a program that receives', () => {
  it('is given each event on its standard input, and again until it takes it', async () => {
    const source = await publisher()
    const cwd = daemon.workDir
    const lamp = await register({
      watches: [{ source: source.id, events: ['build.failed'] }],
      receiver: { type: 'argv', argv: ['sh', '-c', 'cat >> lamp.ndjson; test -e lit'], cwd, env: { COLOUR: 'red' } },
    })
    await client.customObjects.publish(source.id, { event: 'build.fixed', payload: {} })
    await client.customObjects.publish(source.id, failed(7))

    const told = () => (existsSync(join(cwd, 'lamp.ndjson')) ? readFileSync(join(cwd, 'lamp.ndjson'), 'utf8') : '')
    const tries = () =>
      told()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    await waitFor(() => tries().length === 1, { ...patience, what: 'the first try' })
    const [first] = await waitFor(async () => {
      const { data } = await client.customObjects.deliveries.list(lamp.id, { state: 'failed' })
      return data.length > 0 && data
    }, patience)
    expect(first).toMatchObject({ attempt: 1, last_error: expect.stringContaining('exit code 1') })
    expect(await says('deliveries', lamp.name)).toMatch(/1 +dlv_\w+ +failed +build\.failed .* +1 +in \ds +The program/)
    writeFileSync(join(cwd, 'lit'), '')

    await waitFor(() => tries().length === 2, { ...patience, what: 'the second try' })
    await waitFor(async () => (await client.customObjects.retrieve(lamp.id)).receiver_state?.pending === 0, {
      ...patience,
      what: 'an empty receiver',
    })
    expect(tries()[0]).toEqual(tries()[1])
    expect(tries()[0]).toMatchObject({ id: first?.id, type: 'build.failed', data: { id: 7 }, seq: 1 })
  })
})

describe('the publish token', () => {
  it('opens nothing but publishing on its object', async () => {
    const [own, other] = [await publisher(), await publisher()]
    const alone = daemon.client({ token: own.publish_token as string, maxRetries: 0 })
    const queue = await queueOf(own.id)
    const refusals = await Promise.all(
      [
        () => alone.customObjects.publish(other.id, failed(1)),
        () => alone.customObjects.retrieve(own.id),
        () => alone.customObjects.list().page,
        () => alone.customObjects.events.list(own.id).page,
        () => alone.customObjects.ack(queue.id, ['dlv_0000000000000zzzzzzzzzzzzz']),
        () => alone.customObjects.unregister(own.id),
        () => alone.canvas.watches.put({ watcher: queue.id, source: own.id }),
        () => alone.nodes.list().page,
        () => alone.nodes.create({ prompt: 'x', cwd: '/' }),
        () => alone.bash.run({ command: 'true', cwd: '/' }),
        () => alone.tokens.create({ app: 'x' }),
      ].map((ask) =>
        ask().then(
          () => 'done',
          ({ code }: { code: string }) => code,
        ),
      ),
    )
    expect(refusals).toEqual(['not_found', ...Array(10).fill('publish_token_only')])
    expect(await alone.customObjects.publish(own.id, failed(1))).toMatchObject({ seq: 1 })

    const rotated = await client.customObjects.rotate(own.id, {})
    const after = await alone.customObjects.publish(own.id, failed(2)).catch(({ code }) => code)
    expect(after).toBe('token_revoked')
    const anew = daemon.client({ token: rotated.publish_token as string })
    expect(await anew.customObjects.publish(own.id, failed(2))).toMatchObject({ seq: 2 })
    await client.customObjects.unregister(own.id)
    expect(await anew.customObjects.publish(own.id, failed(3)).catch(({ code }) => code)).toBe('token_revoked')
  })
})

describe('what is wrong', () => {
  const bare = 'wrong'
  beforeAll(async () => {
    await client.customObjects.register({ name: bare, catalog })
    await client.customObjects.register({ name: `${bare}-queue`, receiver: { type: 'queue' } })
  })
  const long = JSON.stringify({ id: 1, log: 'x'.repeat(256 * 1024) })
  const twoReceivers = { type: 'queue', url: 'https://x.example/hook' }

  it.each<[string, string, object, number, string]>([
    [
      'an event that is not declared',
      `/${bare}/publish`,
      { event: 'build.lost', payload: {} },
      422,
      'event_not_declared',
    ],
    [
      'a payload that does not fit',
      `/${bare}/publish`,
      { event: 'build.failed', payload: {} },
      422,
      'payload_schema_mismatch',
    ],
    [
      'a payload that is too long',
      `/${bare}/publish`,
      { event: 'build.failed', payload: JSON.parse(long) },
      413,
      'payload_too_large',
    ],
    ['an object that is not there', '/nobody/publish', failed(1), 404, 'not_found'],
    ['a receiver of two kinds', '', { name: 'both', receiver: twoReceivers }, 422, 'validation_failed'],
    ['a name that is taken', '', { name: bare }, 409, 'already_exists'],
    [
      'a private address',
      '',
      { name: 'near', receiver: { type: 'url', url: 'http://127.0.0.1:9/' } },
      422,
      'receiver_refused',
    ],
    ['pausing a queue that nothing is sent to', `/${bare}/pause`, {}, 409, 'receiver_unfit'],
  ])('has one code over HTTP: %s', async (_, path, body, status, code) => {
    const response = await fetch(`${daemon.baseUrl}/v1/custom-objects${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const said = (await response.json()) as { code: string; title: string; request_id: string }
    expect([response.status, said.code]).toEqual([status, code])
    expect(said).toMatchObject({ title: expect.any(String), request_id: expect.any(String) })
  })

  it.each<[string, string[], number, string]>([
    ['an event that is not declared', ['publish', bare, 'build.lost'], 1, 'it declares build.failed, build.fixed'],
    ['a payload that does not fit', ['publish', bare, 'build.failed'], 1, '/payload'],
    [
      'a payload that is too long',
      ['publish', bare, 'build.failed', '--payload', '@long.json'],
      1,
      'payload_too_large',
    ],
    ['an object that is not there', ['publish', 'nobody', 'build.failed'], 3, 'not_found'],
    ['a receiver of two kinds', ['register', 'both', '--queue', '--url', 'https://x.example'], 2, 'one receiver'],
    ['a name that is taken', ['register', bare], 4, 'already_exists'],
    ['a private address', ['register', 'near', '--url', 'http://127.0.0.1:9/'], 1, 'receiver_refused'],
    ['a change that breaks somebody', ['update', bare, '--drop-event', 'build.fixed'], 4, 'build.fixed: '],
    ['receiving where nothing waits', ['receive', bare], 4, 'receiver_unfit'],
  ])('has its exit code and says what to do: %s', async (_, args, exit, text) => {
    writeFileSync(join(daemon.workDir, 'long.json'), long)
    const { code, stdout, stderr } = await command(args)
    expect([code, stdout, stderr]).toEqual([exit, '', expect.stringContaining(text)])
    expect(stderr).toContain('what to do:')
  })
})
