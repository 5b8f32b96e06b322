import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { contract } from '#common/contract/index.js'
import { waitFor } from '#common/testing/wait-for.js'
import {
  answered,
  as,
  ask,
  bought,
  collect,
  type ModelsUnderTest,
  newNode,
  startModels,
  textOf,
  turnCall,
  useMock,
} from '../../../../test/support/models-service.js'
import { startPatientProvider } from '../../../../test/support/patient-provider.js'

const cancelCall = contract['nodes.broker.modelCallCancel']

let models: ModelsUnderTest
beforeAll(async () => {
  models = await startModels()
  await useMock(models)
})
afterAll(() => models.stop())
beforeEach(() => models.mock.reset())

const rows = (node: string) =>
  models.database.query<{ attempt: number; status: string; holder: string; error: { code: string } | null }>(
    'SELECT attempt, status, holder, error FROM models.calls WHERE node_id = $1 ORDER BY attempt',
    [node],
  )
const statuses = async (node: string): Promise<string[]> => (await rows(node)).map(({ status }) => status)

describe('the model call of a turn', () => {
  it('streams the text and ends with the whole answer, its usage and its cost', async () => {
    models.mock.always({ text: 'good morning', chunkSize: 4, usage: { input: 10, output: 4 } })
    const result = await answered(ask(models, turnCall(newNode())))
    expect(result.streamed).toBe('good morning')
    expect(textOf(result.answer)).toBe('good morning')
    expect(result).toMatchObject({
      replayed: false,
      answer: {
        model: 'mock/test-model',
        finish_reason: 'stop',
        attempts: [],
        usage: { input_tokens: 10, output_tokens: 4, cached_tokens: 0, cost_usd: 18 },
      },
    })
  })

  it('puts the usage on the account of the node, once', async () => {
    const node = newNode()
    models.mock.always({ text: 'paid', usage: { input: 7, output: 3 } })
    await answered(ask(models, turnCall(node)))
    await answered(ask(models, turnCall(node)))
    const mine = () => models.usage.filter(({ node_id }) => node_id === node)
    await waitFor(() => mine().length > 0)
    expect(mine()).toEqual([
      {
        source_event: `lifecycle.usage.record:${node}/1/1/1`,
        node_id: node,
        model: 'mock/test-model',
        usage: { input_tokens: 7, output_tokens: 3, cached_tokens: 0, cost_usd: 13 },
        context_tokens: 10,
      },
    ])
  })

  it('reads a recorded answer back instead of buying it again', async () => {
    const call = turnCall(newNode())
    models.mock.always({ text: 'once' })
    const first = await answered(ask(models, call))
    const second = await answered(ask(models, call))
    expect(second).toMatchObject({ replayed: true, answer: first.answer })
    expect(bought(models.mock)).toBe(1)
  })

  it('buys each step of each turn for itself', async () => {
    const node = newNode()
    models.mock.always({ text: 'step' })
    await answered(ask(models, turnCall(node)))
    await answered(ask(models, turnCall(node, { step: 2 })))
    await answered(ask(models, turnCall(node, { turn: 2 })))
    expect(bought(models.mock)).toBe(3)
  })

  it('finishes a call whose broker was killed, and its successor reads the paid answer', async () => {
    const node = newNode()
    const broker = new AbortController()
    const release = models.mock.hold({ text: 'paid for' })
    const killed = collect(ask(models, turnCall(node), broker.signal))
    await waitFor(async () => (await statuses(node))[0] === 'started')
    broker.abort()
    await expect(killed).rejects.toMatchObject({ code: 'client_closed' })
    // comes after the news of the broker's end, on the same connection
    for (let round = 0; round < 3; round += 1)
      await models.gateway.bus.call(contract['models.ready'], as(), {} as never)
    release()
    await waitFor(async () => (await statuses(node))[0] === 'completed')
    const successor = await answered(ask(models, turnCall(node)))
    expect(successor).toMatchObject({ replayed: true })
    expect(textOf(successor.answer)).toBe('paid for')
    expect(bought(models.mock)).toBe(1)
  })

  it('lets a second reader follow a running call from its first word', async () => {
    const node = newNode()
    models.mock.always({ text: 'abcdefghijklmnopqrstuvwxyz', chunkSize: 1, pace: 100 })
    const first = ask(models, turnCall(node))[Symbol.asyncIterator]()
    await first.next()
    const second = await answered(ask(models, turnCall(node)))
    expect(second.streamed).toBe('abcdefghijklmnopqrstuvwxyz')
    expect(second.replayed).toBe(false)
    expect(bought(models.mock)).toBe(1)
    await first.return?.()
  })

  it('buys one answer for two brokers that ask at the same moment', async () => {
    const node = newNode()
    models.mock.always({ text: 'shared', delay: 50 })
    const [a, b] = await Promise.all([answered(ask(models, turnCall(node))), answered(ask(models, turnCall(node)))])
    expect([textOf(a.answer), textOf(b.answer)]).toEqual(['shared', 'shared'])
    expect(bought(models.mock)).toBe(1)
  })

  it('records what failed with its error, and buys again when asked again', async () => {
    const node = newNode()
    models.mock.always({ text: 'second time' }).next({ error: { status: 429, message: 'slow down', retryAfter: 7 } })
    await expect(answered(ask(models, turnCall(node)))).rejects.toMatchObject({
      code: 'model_error',
      fields: {
        provider: 'mock',
        model: 'test-model',
        reason: 'rate_limit',
        upstream_status: 429,
        retry_after_ms: 7000,
      },
    })
    const again = await answered(ask(models, turnCall(node)))
    expect(textOf(again.answer)).toBe('second time')
    expect(again.unknown_attempts).toBeUndefined()
    expect(await rows(node)).toMatchObject([
      { attempt: 1, status: 'failed', error: { code: 'model_error' } },
      { attempt: 2, status: 'completed' },
    ])
  })

  it('keeps what a provider needs back about a recorded conversation', async () => {
    const node = newNode()
    const messages = [
      { role: 'user' as const, content: [{ type: 'text' as const, text: 'list the files' }] },
      {
        role: 'assistant' as const,
        content: [{ type: 'tool_call' as const, call_id: 'call_1', name: 'list', input: { path: '.' } }],
      },
      {
        role: 'tool' as const,
        content: [{ type: 'tool_result' as const, call_id: 'call_1', name: 'list', output: 'a.ts', failed: false }],
      },
    ]
    models.mock.always({ text: 'one file' })
    await answered(ask(models, turnCall(node, { messages })))
    const sent = models.mock.requests().at(-1)?.body.messages
    expect(sent).toMatchObject([
      { role: 'user' },
      { role: 'assistant', tool_calls: [{ id: 'call_1', function: { name: 'list', arguments: '{"path":"."}' } }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'a.ts' },
    ])
  })
})

describe('cancelling the model call of a turn', () => {
  const cancel = (node: string, step = 1) =>
    models.gateway.bus.call(cancelCall, as({ kind: 'node', nodeId: node }), { id: node, turn: 1, step })

  it('ends the call at its provider and for everybody who follows it', async () => {
    const node = newNode()
    models.mock.always({ text: 'a long story that nobody wants '.repeat(20), chunkSize: 1, pace: 100 })
    const reading = collect(ask(models, turnCall(node)))
    reading.catch(() => undefined)
    await waitFor(async () => (await statuses(node))[0] === 'started')
    expect(await cancel(node)).toEqual({ canceled: true })
    await expect(reading).rejects.toMatchObject({ code: 'client_closed' })
    expect(await rows(node)).toMatchObject([{ status: 'failed', error: { code: 'client_closed' } }])
  })

  it('hangs up on the provider', async () => {
    const provider = await startPatientProvider()
    const providers = { patient: { type: 'openai-compatible' as const, base_url: provider.baseUrl } }
    await useMock(models, { providers, ladders: {} })
    const node = newNode()
    const reading = collect(ask(models, turnCall(node, { model: 'patient/m' })))
    reading.catch(() => undefined)
    await provider.begun()
    await cancel(node)
    await provider.left()
    await provider.stop()
    await useMock(models)
  })

  it('says that there was nothing to cancel', async () => {
    const node = newNode()
    models.mock.always({ text: 'done' })
    await answered(ask(models, turnCall(node)))
    expect(await cancel(node)).toEqual({ canceled: false })
    expect(await cancel(node, 9)).toEqual({ canceled: false })
  })

  it('buys the step afresh when it is asked for after a cancel', async () => {
    const node = newNode()
    const release = models.mock.hold({ text: 'never read' })
    const reading = collect(ask(models, turnCall(node)))
    reading.catch(() => undefined)
    await waitFor(async () => (await statuses(node))[0] === 'started')
    await cancel(node)
    release()
    await expect(reading).rejects.toMatchObject({ code: 'client_closed' })
    models.mock.always({ text: 'after the interrupt' })
    expect(textOf((await answered(ask(models, turnCall(node)))).answer)).toBe('after the interrupt')
  })
})

describe('a call whose row is closed before it ends', () => {
  /** Closes the row of a call while the provider is answering. */
  const closedMeanwhile = async (closing: string) => {
    const call = turnCall(newNode())
    const release = models.mock.hold({ text: 'told late' })
    const asked = answered(ask(models, call))
    asked.catch(() => undefined)
    await waitFor(async () => (await statuses(call.id))[0] === 'started')
    await models.database.query(`UPDATE models.calls SET ended_at = now(), ${closing} WHERE node_id = $1`, [call.id])
    release()
    return { call, asked }
  }

  // A replica that had lost its session with the database was taken for dead; what it told afterwards stood in no record,
  // so that the next to ask bought the step again.
  it('by a replica that took its process for dead is not answered, and is bought again', async () => {
    const { call, asked } = await closedMeanwhile("status = 'outcome_unknown'")
    await expect(asked).rejects.toMatchObject({ code: 'model_call_unknown' })
    models.mock.always({ text: 'again' })
    expect(await answered(ask(models, call))).toMatchObject({ replayed: false, unknown_attempts: 1 })
  })

  it('by a commit whose answer was lost is answered', async () => {
    const { asked } = await closedMeanwhile("status = 'completed', response = '{}'")
    expect((await asked).streamed).toBe('told late')
  })
})

describe('a call whose process is gone', () => {
  const started = (node: string, holder: string) =>
    models.database.query(
      `INSERT INTO models.calls (node_id, turn, step, attempt, request_hash, status, holder, started_at)
       VALUES ($1, 1, 1, 1, 'h', 'started', $2, now())`,
      [node, holder],
    )

  it('is recorded as outcome_unknown, and the next attempt says so', async () => {
    const node = newNode()
    await started(node, 'models-00000000000000aa')
    models.mock.always({ text: 'bought again' })
    const result = await answered(ask(models, turnCall(node)))
    expect(result).toMatchObject({ unknown_attempts: 1, replayed: false })
    expect(await rows(node)).toMatchObject([
      { attempt: 1, status: 'outcome_unknown' },
      { attempt: 2, status: 'completed' },
    ])
    expect(await answered(ask(models, turnCall(node)))).toMatchObject({ unknown_attempts: 1, replayed: true })
  })

  it('is not given up while the lock of its process is held, however long it is silent', async () => {
    const node = newNode()
    const holder = 'models-7fffffff000000bb'
    const { openAdmin } = await import('#common/testing/admin-connection.js')
    const other = await openAdmin(models.database.url)
    await other.rows('SELECT pg_advisory_lock((($1::bigint) << 32) | $2::bigint)', [0x7fffffff, 0xbb])
    await started(node, holder)
    const waiting = answered(ask(models, turnCall(node)))
    waiting.catch(() => undefined)
    // it ends elsewhere, after the time in which a dead one would have been given up
    const due = performance.now() + 1500
    await waitFor(() => performance.now() > due)
    expect(await statuses(node)).toEqual(['started'])
    await models.database.query(
      `UPDATE models.calls SET status = 'completed', ended_at = now(), response = $2 WHERE node_id = $1`,
      [
        node,
        JSON.stringify({
          content: [{ type: 'text', text: 'from elsewhere' }],
          finish_reason: 'stop',
          model: 'm/x',
          usage: { input_tokens: 1, output_tokens: 1, cached_tokens: 0, cost_usd: 0 },
          attempts: [],
        }),
      ],
    )
    const result = await waiting
    expect(result.replayed).toBe(true)
    expect(textOf(result.answer)).toBe('from elsewhere')
    expect(bought(models.mock)).toBe(0)
    await other.close()
  })
})

describe('the database', () => {
  it('may drop the connection that holds the lock: calls go on under it as soon as it is back', async () => {
    models.mock.always({ text: 'still here' })
    const sessions = () =>
      models.database.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'svc models session' AND datname = current_database()",
      )
    const [before] = await sessions()
    await models.database.query('SELECT pg_terminate_backend($1)', [before?.pid])
    const node = newNode()
    expect(textOf((await answered(ask(models, turnCall(node)))).answer)).toBe('still here')
    const [after] = await sessions()
    expect(after?.pid).not.toBe(before?.pid)
  })

  it('may be away when an answer comes: the answer is kept until it is back, and told only then', async () => {
    const node = newNode()
    const release = models.mock.hold({ text: 'worth keeping' })
    const reading = answered(ask(models, turnCall(node)))
    reading.catch(() => undefined)
    await waitFor(async () => (await statuses(node))[0] === 'started')
    await models.database.query('ALTER TABLE models.calls RENAME TO calls_away')
    const drop =
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'svc models' AND datname = current_database()"
    await models.database.query(drop)
    await models.database.query('ALTER TABLE models.calls_away RENAME TO calls')
    release()
    expect(textOf((await reading).answer)).toBe('worth keeping')
    expect(await statuses(node)).toEqual(['completed'])
  })
})
