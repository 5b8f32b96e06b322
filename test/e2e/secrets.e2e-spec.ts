import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { MockModel } from '#common/testing/mock-model.js'
import { take, waitFor } from '#common/testing/wait-for.js'
import type { NodeCreate } from '#sdk/index.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'
import { textOf } from '../support/daemon-processes.js'

const credential = 'sk-distinctive-9f8e7d6c5b4a39281706f5e4d3c2b1a0'
let daemon: TestDaemon
let mock: MockModel
/** What clients were answered, errors above all. */
const answers: string[] = []

const ask = async (path: string, init: RequestInit = {}): Promise<void> => {
  const headers = { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' }
  const response = await fetch(daemon.baseUrl + path, { headers, ...init })
  answers.push(JSON.stringify([...response.headers]), await response.text())
}

/** What is told of a node until its fault ends it, or holds it until there is a key that the provider takes. */
const fault = async (body: NodeCreate): Promise<unknown[]> => {
  const { nodes } = daemon.client()
  const { id } = await nodes.create(body)
  const told = await take(nodes.events(id), ({ type }) => type === 'node.fault' || type === 'node.dead')
  const shown = await Promise.all([nodes.retrieve(id), nodes.outcome(id)])
  if (shown[0].status === 'active') await nodes.cancel(id)
  return [...told, ...shown]
}

/** A day in which everything goes wrong that could make somebody print a secret. */
beforeAll(async () => {
  ;[daemon, mock] = await Promise.all([TestDaemon.start({ env: { SVC_LOG_LEVEL: 'trace' } }), MockModel.start()])
  const client = daemon.client({ maxRetries: 20 })
  await client.models.config.update({
    providers: {
      mock: { type: 'openai-compatible', base_url: mock.baseUrl('openai-compatible'), requires_key: true },
    },
    ladders: { medium: ['mock/m-1'] },
  })
  await client.models.credentials.install('mock', { kind: 'api_key', api_key: credential, label: 'distinctive' })
  mock.conversation({ prompt: 'look around' }, [
    { toolCalls: [{ name: 'bash', input: { command: 'env; cat /proc/$PPID/environ | tr "\\0" "\\n"' } }] },
    { toolCalls: [{ name: 'report', input: { kind: 'final', body: 'seen' } }] },
  ])
  // Providers are known to repeat the key that they refuse.
  const refusal = `Incorrect API key provided: ${credential}. The Authorization header was "Bearer ${credential}".`
  mock.conversation({ prompt: 'be refused' }, [{ error: { status: 401, message: refusal, code: credential } }])
  mock.conversation({ prompt: 'fail' }, [{ error: { status: 400, message: refusal } }])
  const here = { cwd: daemon.workDir, lifecycle: 'terminal' as const }
  const seen = await client.nodes.createAndWait({ ...here, prompt: 'look around' })
  // The mock keeps no token that it was sent, only that there was one.
  expect(mock.requests()[0]?.headers.authorization).toBeDefined()
  for (const prompt of ['be refused', 'fail']) {
    await ask('/v1/llm', {
      method: 'POST',
      body: JSON.stringify({ messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }] }),
    })
    answers.push(JSON.stringify(await fault({ ...here, prompt })))
  }
  await client.models.credentials.install('mock', { kind: 'api_key', api_key: credential })
  for (const name of ['postgres', 'nats', 'redis'] as const) {
    daemon.processes.kill(name)
    for (const path of ['/v1/nodes', '/v1/status', '/v1/model-auth']) await ask(path)
    await waitFor(() => daemon.processes.find(name), { what: name })
  }
  const program = { engine: 'exec', exec: { argv: ['sh', '-c', 'env; until [ -e end ]; do sleep 0.02; done'] } }
  const working = await client.nodes.create({ ...here, ...program, prompt: 'work' })
  await take(client.nodes.events(working.id), ({ type }) => type === 'tool.started')
  for (const path of ['/v1/nodes', '/v1/status', '/v1/model-auth', '/v1/model-auth/readiness', '/v1/model-config'])
    await ask(path)
  for (const id of [seen.node_id, working.id]) {
    for (const part of ['', '/outcome', '/events', '/reports']) await ask(`/v1/nodes/${id}${part}`)
  }
  await ask('/v1/model-auth/mock', { method: 'PUT', body: `{"kind":"api_key","api_key":["${credential}"]}` })
  const { stdout, stderr } = await svc(daemon, ['sys', 'doctor', '--json'])
  answers.push(stdout, stderr)
})
afterAll(() => Promise.all([daemon.stop(), mock.stop()]))

const secretOf = (file: string): string => readFileSync(join(daemon.data.secrets, file), 'utf8').trim()

/** Values that nobody but their owner may hold, by name. */
const secrets = (): Record<string, string> => ({
  credential,
  "owner's token": daemon.token,
  "secret half of the owner's token": daemon.token.split('_').at(-1) as string,
  'key of credentials': readFileSync(join(daemon.data.keys, 'credentials.key'), 'utf8').trim(),
  'key of node tokens': readFileSync(join(daemon.data.keys, 'node-token.key'), 'utf8').trim(),
  ...Object.fromEntries(
    readdirSync(daemon.data.secrets)
      .filter((name) => name.endsWith('.password'))
      .map((name) => [name, secretOf(name)]),
  ),
})
/** Where database, bus and Redis are; of no use to anybody who should not use them. */
const addresses = (): Record<string, string> => ({
  'address of the database': 'postgresql://',
  'socket of the database': join(daemon.data.run, 'postgres'),
  'address of the bus': `127.0.0.1:${readFileSync(join(daemon.data.run, 'nats.port'), 'utf8').trim()}`,
  'address of Redis': 'redis.sock',
  'name of a setting': 'DATABASE_URL',
})

const found = (text: string, wanted: Record<string, string>): string[] =>
  Object.entries(wanted).flatMap(([name, value]) => (text.includes(value) ? [name] : []))

describe('no credential, token of the owner, password or address of a server', () => {
  it('is in the environment of a broker or of what a broker started', async () => {
    const brokers = daemon.processes.brokers()
    expect(brokers.length).toBeGreaterThan(0)
    const tools = [...daemon.processes.toolsByNode().keys()]
    expect(tools).toHaveLength(1)
    for (const { pid } of daemon.processes.all()) {
      const environment = textOf(`/proc/${pid}/environ`)
      if (!environment.includes('SVC_BROKER_MARK=')) continue
      expect({ pid, found: found(environment, { ...secrets(), ...addresses() }) }).toEqual({ pid, found: [] })
    }
    writeFileSync(join(daemon.workDir, 'end'), '')
  })

  it('is in a log, at the most talkative level, after a day of failures', () => {
    const files = readdirSync(daemon.data.log)
    expect(files).toEqual(expect.arrayContaining(['daemon.log', 'host.log', 'postgres.log', 'nats.log', 'redis.log']))
    for (const file of files) {
      const text = textOf(join(daemon.data.log, file))
      expect({ file, found: found(text, secrets()) }).toEqual({ file, found: [] })
    }
    // A server's own log may say where it listens; ours say nothing of it.
    for (const file of files.filter((name) => /^(daemon|host|broker)\./.test(name))) {
      const text = textOf(join(daemon.data.log, file))
      expect({ file, found: found(text, { 'address of the database': 'postgresql://' }) }).toEqual({ file, found: [] })
    }
  })

  it('is in an answer, an error or an event', () => {
    expect(answers.length).toBeGreaterThan(30)
    for (const answer of answers) {
      const text = found(answer, { ...secrets(), ...addresses() })
      expect({ found: text, in: text.length ? answer : '' }).toEqual({ found: [], in: '' })
    }
  })

  it('is in any table, but for the credential in encrypted form', async () => {
    const tables = await daemon.rows<{ name: string }>(
      "SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables WHERE table_schema IN ('canvas', 'gateway', 'models', 'objects', 'scheduler')",
    )
    expect(tables.length).toBeGreaterThan(10)
    for (const { name } of tables) {
      const [row] = await daemon.rows<{ text: string }>(
        `SELECT coalesce(string_agg(t::text, ''), '') AS text FROM ${name} t`,
      )
      const text = row?.text ?? ''
      const bytes = Buffer.from(credential).toString('hex')
      expect({ name, found: found(text, { ...secrets(), ...addresses(), 'credential as bytes': bytes }) }).toEqual({
        name,
        found: [],
      })
    }
    const [installed] = await daemon.rows<{ bytes: number }>(
      'SELECT length(ciphertext) AS bytes FROM models.credentials',
    )
    expect(installed?.bytes).toBeGreaterThan(credential.length - 1)
  })
})
