import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { errorCodes, factsOf } from '#common/contract/errors.js'
import { MockModel } from '#common/testing/mock-model.js'
import { take } from '#common/testing/wait-for.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
let mock: MockModel

beforeAll(async () => {
  ;[daemon, mock] = await Promise.all([TestDaemon.start(), MockModel.start()])
  await daemon.useModel(mock)
})
afterAll(() => Promise.all([daemon.stop(), mock.stop()]))

interface Sent {
  method?: string
  token?: string | null
  body?: unknown
  text?: string
}

const send = async (path: string, { method = 'POST', token = daemon.token, body, text }: Sent = {}) => {
  const response = await fetch(daemon.baseUrl + path, {
    method,
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...((body !== undefined || text !== undefined) && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(text !== undefined && { body: text }),
  })
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    challenge: response.headers.get('www-authenticate'),
    problem: (await response.json()) as Record<string, unknown>,
  }
}

/** As the catalogue documents the code, and nothing written. */
const expectRefused = async (code: keyof typeof errorCodes, path: string, sent?: Sent) => {
  const before = await written()
  const answer = await send(path, sent)
  expect(answer).toMatchObject({
    status: factsOf(code).status,
    type: 'application/problem+json',
    problem: { code, status: factsOf(code).status, request_id: expect.any(String), retryable: factsOf(code).retryable },
  })
  expect(await written()).toEqual(before)
  return answer
}

const written = () =>
  daemon.rows(`SELECT (SELECT count(*) FROM canvas.nodes) AS nodes, (SELECT count(*) FROM canvas.mail) AS mail,
    (SELECT count(*) FROM canvas.events) AS events, (SELECT count(*) FROM canvas.idempotency) AS keys`)

const node = { prompt: 'go', cwd: '/', engine: 'exec', exec: { argv: ['true'] } }

describe('creating a node', () => {
  it('refuses a body that is not JSON', () => expectRefused('malformed_request', '/v1/nodes', { text: '{"prompt":' }))

  it('refuses a body of the wrong shape and points at the field', async () => {
    const { problem } = await expectRefused('validation_failed', '/v1/nodes', { body: { ...node, prompt: 7 } })

    expect(problem.errors).toMatchObject([{ pointer: '/prompt' }])
  })

  it('refuses an unknown field and names it', async () => {
    const { problem } = await expectRefused('validation_failed', '/v1/nodes', { body: { ...node, colour: 'red' } })

    expect(JSON.stringify(problem.errors)).toContain('colour')
  })

  it('refuses an argument that would reach the program cut short', async () => {
    const { problem } = await expectRefused('validation_failed', '/v1/nodes', {
      body: { ...node, exec: { argv: ['echo', 'a\0b'] } },
    })

    expect(problem.errors).toMatchObject([{ pointer: '/exec/argv/1' }])
  })

  it('refuses a prompt that is too long', () =>
    expectRefused('validation_failed', '/v1/nodes', { body: { ...node, prompt: 'x'.repeat(256 * 1024 + 1) } }))

  it('refuses a body that is too large before it reads it', () =>
    expectRefused('payload_too_large', '/v1/nodes', { body: { ...node, prompt: 'x'.repeat(8 * 1024 * 1024) } }))

  it('refuses a call without a token and says which kind it takes', async () => {
    const { challenge } = await expectRefused('token_missing', '/v1/nodes', { body: node, token: null })

    expect(challenge).toBe('Bearer realm="svc"')
  })

  it('refuses a token that nobody was given', async () => {
    const token = daemon.token.replace(/.{6}$/, 'AAAAAA')

    const { challenge } = await expectRefused('token_invalid', '/v1/nodes', { body: node, token })

    expect(challenge).toContain('error="invalid_token"')
  })
})

describe('a node that is not there', () => {
  const nobody = 'node_01jd0000000000000000000000'

  it('is not found, whatever is asked of it', async () => {
    await expectRefused('not_found', `/v1/nodes/${nobody}`, { method: 'GET' })
    await expectRefused('not_found', `/v1/nodes/${nobody}/events`, { method: 'GET' })
    await expectRefused('not_found', `/v1/nodes/${nobody}/message`, { body: { body: 'hello' } })
    await expectRefused('not_found', `/v1/nodes/${nobody}/cancel`)
  })
})

describe('a token of a node', () => {
  /** What a program inside a node sees when it asks the daemon with the node's own token. */
  const inside = async (script: string, scopes?: string[]): Promise<string> => {
    const outcome = await daemon.client().nodes.createAndWait({
      prompt: 'go',
      cwd: daemon.workDir,
      engine: 'exec',
      lifecycle: 'terminal',
      exec: { argv: ['sh', '-c', script] },
      ...(scopes && { scopes }),
    })
    return outcome.final_report?.body ?? JSON.stringify(outcome)
  }
  const curl = (path: string, body: string): string =>
    `curl -sS -H "authorization: Bearer $SVC_TOKEN" -H 'content-type: application/json' -d '${body}' "$SVC_BASE_URL${path}"`

  it('creates no node without the scope for it, and is told which one', async () => {
    const before = await daemon.rows('SELECT count(*)::int AS nodes FROM canvas.nodes')

    const answer = JSON.parse(await inside(curl('/v1/nodes', JSON.stringify(node)), ['svc:llm']))

    expect(answer).toMatchObject({ status: 403, code: 'scope_missing', scope: 'svc:act' })
    const after = await daemon.rows('SELECT count(*)::int AS nodes FROM canvas.nodes')
    expect(after[0]?.nodes).toBe(Number(before[0]?.nodes) + 1)
  })

  it('gives no child more than it holds itself', async () => {
    const body = JSON.stringify({ ...node, scopes: ['svc:llm', 'svc:act', 'svc:schedule'] })

    const answer = JSON.parse(await inside(curl('/v1/nodes', body), ['svc:llm', 'svc:act']))

    expect(answer).toMatchObject({ status: 403, code: 'scope_exceeds_ceiling', scopes: ['svc:schedule'] })
  })

  it("sees nothing of another root's nodes", async () => {
    const other = await daemon.client().nodes.create(node)

    const answer = JSON.parse(
      await inside(`curl -sS -H "authorization: Bearer $SVC_TOKEN" "$SVC_BASE_URL/v1/nodes/${other.id}"`),
    )

    expect(answer).toMatchObject({ status: 404, code: 'not_found' })
  })
})

describe('a result', () => {
  it('is submitted once', async () => {
    const client = daemon.client()
    const { id } = await client.nodes.create({
      ...node,
      lifecycle: 'resident',
      exec: { argv: ['sh', '-c', 'read a; read b'] },
      result_schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    })
    await take(client.nodes.events(id), ({ type }) => type === 'tool.started')
    await expectRefused('result_schema_mismatch', `/v1/nodes/${id}/result`, { body: { value: { n: 'two' } } })
    await client.nodes.result.submit(id, { value: { n: 2 } })

    const second = await send(`/v1/nodes/${id}/result`, { body: { value: { n: 3 } } })

    expect(second).toMatchObject({ status: 409, problem: { code: 'result_already_submitted', retryable: false } })
    expect((await client.nodes.outcome(id)).result).toEqual({ n: 2 })
  })
})

describe('a model that the provider does not know', () => {
  it('ends the node, which says so, and buys nothing else', async () => {
    mock.conversation({ prompt: 'unknown model' }, [{ error: { status: 404, message: 'no such model' } }])

    const outcome = await daemon.client().nodes.createAndWait({
      prompt: 'try the unknown model',
      cwd: daemon.workDir,
      lifecycle: 'terminal',
    })

    expect(outcome).toMatchObject({ status: 'dead', error: { kind: 'model_not_found' } })
    expect(mock.requests().filter(({ status }) => status === 404)).toHaveLength(1)
  })

  it('is refused to a caller of /v1/llm with the provider’s word', async () => {
    mock.conversation({ prompt: 'unknown here too' }, [{ error: { status: 404, message: 'no such model' } }])
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'unknown here too' }] }]

    const answer = await send('/v1/llm', { body: { messages, model: 'mock/m-2' } })

    expect(answer).toMatchObject({ status: 422, problem: { code: 'model_not_found' } })
  })
})
