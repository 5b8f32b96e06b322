import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { cut, events, json, problem, type Reply, type Sent } from '../../../../../test/support/wire-server.js'

const at = '2026-01-01T00:00:00.000Z'
const accepted = (seq: number, duplicate = false) => ({ event_id: `evt_${seq}`, seq, accepted_at: at, duplicate })
const batch = (...of: ReturnType<typeof accepted>[]) => json({ data: of }, 202)
const token = { env: { SVC_TOKEN: 'svc_pub_x' } }

let svc: SvcCommand
let wire: SvcCommand['wire']
beforeAll(async () => {
  svc = await SvcCommand.start()
  wire = svc.wire
})
afterAll(() => svc.stop())

const publish = (args: string[], input?: string | Buffer) =>
  svc.run(['custom-object', 'publish', 'build-server', ...args], { ...token, ...(input !== undefined && { input }) })

describe('svc custom-object publish', () => {
  it('asks for nothing else with the publish token alone', async () => {
    wire.says(json(accepted(7), 202))
    const args = ['build.failed', '--payload', '{"id":7}', '--dedupe-key', 'build-7']
    const { code, out, err } = await publish(args)
    expect([code, out, err]).toEqual([0, 'evt_7\n', 'accepted: number 7 of its events\n'])
    expect(wire.only).toMatchObject({
      method: 'POST',
      path: '/v1/custom-objects/build-server/publish',
      headers: { authorization: 'Bearer svc_pub_x' },
      body: { event: 'build.failed', payload: { id: 7 }, dedupe_key: 'build-7' },
    })
  })

  it('takes the payload from standard input, and an empty object where there is none', async () => {
    wire.says(json(accepted(1), 202))
    await publish(['a', '--payload', '-'], '[1]')
    expect(wire.only.body).toEqual({ event: 'a', payload: [1] })
    wire.says(json(accepted(1, true), 202))
    const { err } = await publish(['a'])
    expect([wire.only.body, err]).toEqual([{ event: 'a', payload: {} }, expect.stringContaining('accepted before')])
  })

  it('says what an object declares when an event is not among it', async () => {
    wire.says(problem(422, { code: 'event_not_declared', detail: 'no', declared: ['a', 'b'] }))
    const { code, err } = await publish(['c'])
    expect([code, err]).toEqual([1, expect.stringContaining('  it declares a, b\n')])
    expect((await publish([])).code).toBe(2)
    expect((await publish(['a', '--payload', '{'])).code).toBe(2)
  })

  it('publishes lines in batches, each a payload or a whole event', async () => {
    wire.says(batch(accepted(1)), batch(accepted(2, true)))
    const { code, out } = await publish(['a', '--lines'], '{"n":1}\n\n2')
    expect([code, out]).toEqual([0, '2 accepted, 1 of them had been before\n'])
    expect(wire.received.map(({ path, body }) => [path, body])).toEqual([
      ['/v1/custom-objects/build-server/publish-batch', { events: [{ event: 'a', payload: { n: 1 } }] }],
      ['/v1/custom-objects/build-server/publish-batch', { events: [{ event: 'a', payload: 2 }] }],
    ])
    wire.says(batch(accepted(3)))
    const whole = { event: 'b', payload: null, dedupe_key: 'k' }
    expect((await publish(['--lines', '--json'], `${JSON.stringify(whole)}\n`)).out).toBe(
      `${JSON.stringify(accepted(3))}\n`,
    )
    expect(wire.only.body).toEqual({ events: [whole] })
  })

  it('sends at most 500 lines at once', async () => {
    wire.says((response, request) => {
      const { events: sent } = request.body as { events: unknown[] }
      batch(...sent.map((_, seq) => accepted(seq + 1)))(response, request)
    })
    const { out } = await publish(['a', '--lines'], '1\n'.repeat(1201))
    expect(out).toBe('1201 accepted\n')
    const sizes = wire.received.map(({ body }) => (body as { events: unknown[] }).events.length)
    expect(Math.max(...sizes)).toBe(500)
  })

  it('publishes what stands before a line that is none, and says which', async () => {
    wire.says(batch(accepted(1), accepted(2)))
    const { code, err } = await publish(['a', '--lines'], '1\n2\nthree\n4\n')
    expect([code, err]).toEqual([2, expect.stringContaining('line 3 is not JSON')])
    expect(err).toContain('the 2 events before line 3 are published')
    expect(wire.only.body).toEqual({
      events: [
        { event: 'a', payload: 1 },
        { event: 'a', payload: 2 },
      ],
    })
    wire.says(
      problem(422, { code: 'payload_schema_mismatch', detail: 'no', errors: [{ pointer: '/events/1', message: 'x' }] }),
    )
    const refused = await publish(['a', '--lines'], '1\n2\n')
    expect(refused.err).toMatch(/^none of the 2 events in lines 1–2 is published$/m)
    expect(refused.code).toBe(1)
    expect((await publish(['--lines'], '1\n')).err).toContain('line 1 names no event')
    expect((await publish(['a', '--lines', '--dedupe-key', 'x'], '1\n')).code).toBe(2)
  })
})

describe('svc custom-object publish --lines', () => {
  const three = '1\n2\n\n3\n'
  const refusal = problem(422, { code: 'payload_schema_mismatch', detail: 'no' })

  it.each<[string, Reply]>([
    ['a connection that breaks', cut],
    ['an answer that is none', json('nothing', 202)],
    ['an answer that is no JSON', (response) => response.writeHead(202).end('<html>')],
    ['an attempt that was cut off', problem(409, { code: 'outcome_unknown', detail: 'no' })],
    ['a proxy', problem(502, { detail: 'no' })],
  ])('claims nothing of its lines after %s, and says how to find out', async (_, reply) => {
    wire.says(reply)
    const { code, err } = await publish(['a', '--lines'], three)
    expect(code).not.toBe(0)
    expect(err).toMatch(/^nobody knows whether the 3 events in lines 1–4 are published$/m)
    expect(err).toContain('svc custom-object events build-server')
    expect(err).toContain('dedupe_key')
    expect(err).not.toContain('none of')
  })

  it('says what is published before, and that a dedupe_key makes it safe to send again', async () => {
    const keyed = (key: string) => JSON.stringify({ event: 'a', payload: 1, dedupe_key: key })
    const batches = `${keyed('x')}\n`.repeat(500) + keyed('y')
    let first = true
    wire.says((response, request) => {
      const { events: sent } = request.body as { events: unknown[] }
      const reply = first ? batch(...sent.map((_, at) => accepted(at + 1))) : problem(500, { detail: 'no' })
      first = false
      reply(response, request)
    })
    const { err } = await publish(['--lines'], batches)
    expect(err).toMatch(
      /^nobody knows whether the (\d+ events|event) in lines? [\d–]+ (is|are) published; the \d+ before (it|them) are$/m,
    )
    expect(err).toContain('sent again none is published twice: each has its dedupe_key')
  })

  it('says of a refusal that none is published, unless an earlier attempt ended unseen', async () => {
    wire.says(refusal)
    expect((await publish(['a', '--lines'], '1')).err).toMatch(/^the event in line 1 is not published$/m)
    wire.says(cut, refusal)
    expect((await publish(['a', '--lines'], '1')).err).toMatch(
      /^nobody knows whether the event in line 1 is published$/m,
    )
    const nobody = { env: { SVC_TOKEN: 'svc_pub_x', SVC_BASE_URL: 'http://127.0.0.1:1' }, input: three }
    const { err } = await svc.run(['custom-object', 'publish', 'build-server', 'a', '--lines'], nobody)
    expect(err).toMatch(/^none of the 3 events in lines 1–4 is published$/m)
  })

  it('repeats a request under its key, so that a daemon that took it answers the same', async () => {
    wire.says(cut, batch(accepted(1)))
    expect((await publish(['a', '--lines'], '1')).out).toBe('1 accepted\n')
    const [first, second] = wire.received.map(({ headers }) => headers['idempotency-key'])
    expect(first).toMatch(/\w/)
    expect(second).toBe(first)
  })

  it('waits out a daemon that restarts, once it has taken something, and says so once', async () => {
    const gone = problem(503, { code: 'service_unavailable', detail: 'no' }, { 'retry-after': '0' })
    let taken = 0
    wire.says((response, request) => {
      const { events: sent } = request.body as { events: unknown[] }
      const answers = taken === 0 || wire.received.length > 6
      taken += answers ? sent.length : 0
      const reply = answers ? batch(...sent.map((_, at) => accepted(at + 1))) : gone
      reply(response, request)
    })
    const { code, out, err } = await publish(['a', '--lines'], '1\n'.repeat(501))
    expect([code, out]).toEqual([0, '501 accepted\n'])
    expect(err).toBe('no answer of the daemon: trying again until there is one\n')
  })

  // The command read them as other values, and only those reached the daemon.
  it.each([
    [
      '{"id":9007199254740993}',
      ' at /id is a whole number that would be kept as 9007199254740992: send it as a string',
    ],
    ['[12345678901234567890123]', ' at /0 is a whole number'],
    ['1e400', ' is a number beyond 1.8e308: send it as a string'],
    [String.raw`{"a":"\ud800"}`, ' at /a has half of a surrogate pair'],
    [Buffer.from('"\xff"', 'latin1'), ' is not UTF-8'],
  ])('sends nothing that would be another value once it is read: %s', async (text, message) => {
    wire.says(batch(accepted(1)))
    const { code, err } = await publish(['a', '--payload', '-'], text)
    expect([code, err]).toEqual([2, expect.stringContaining(`--payload${message}`)])
    const lines = await publish(['a', '--lines'], Buffer.concat([Buffer.from('"ü"\n'), Buffer.from(text)]))
    expect([lines.code, lines.err]).toEqual([2, expect.stringContaining(`line 2${message}`)])
    expect(lines.err).toContain('the 1 events before line 2 are published')
    expect(wire.received.map(({ body }) => body)).toEqual([{ events: [{ event: 'a', payload: 'ü' }] }])
  })
})

describe('svc custom-object receive', () => {
  const delivery = (seq: number) => ({
    ...{ id: `dlv_${seq}`, object_ref: 'obj_x', source_ref: 'obj_y', source_name: 'build-server', event_id: 'evt_x' },
    ...{ event: 'build.failed', payload: { n: seq }, seq, attempt: 0, state: 'pending', created_at: at },
    ...{ next_attempt_at: null, last_error: null, trace_id: null },
  })
  const deliveries = (...seqs: number[]): Sent[] =>
    seqs.map((seq) => ({ id: String(seq), event: 'delivery', data: delivery(seq) }))
  /** As the daemon says it when the object is deleted. */
  const over: Sent = { event: 'error', data: { code: 'not_found', status: 404, detail: 'There is no object alarm.' } }
  const receive = (...args: string[]) => svc.run(['custom-object', 'receive', 'alarm', ...args])
  const acked = () =>
    wire.received.filter(({ path }) => path.endsWith('/ack')).flatMap(({ body }) => (body as { ids: string[] }).ids)

  /** A queue that is asked for again after each of these connections. */
  const queue = (...connections: readonly Parameters<typeof events>[]) => {
    const left = [...connections]
    wire.says((response, request) => {
      if (request.path.endsWith('/ack')) return json({ acknowledged: 1, unknown: [] })(response, request)
      if (!request.path.includes('/receive')) return json({ id: 'obj_x' })(response, request)
      const next = left.shift()
      return (next ? events(...next) : cut)(response, request)
    })
  }

  it('shows what waits and what comes, over a broken connection, until the object is deleted', async () => {
    queue([deliveries(1, 2), 'breaks'], [[...deliveries(2, 3), over]])
    const { code, out, err } = await receive('--json')
    expect([code, err]).toEqual([3, expect.stringContaining('not_found')])
    const seqs = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).seq)
    expect(seqs).toEqual([1, 2, 2, 3])
    expect(acked()).toEqual([])
    queue([[...deliveries(7), over]])
    expect((await receive('--after', '6')).out).toBe('     7  dlv_7  build.failed of build-server  {"n":7}\n')
    expect(wire.received.at(-1)?.headers['last-event-id']).toBe('6')
  })

  it('acknowledges each that it has written, and ends after so many', async () => {
    queue([deliveries(1, 2, 3), 'stays'])
    const { code, out } = await receive('--ack', '-n', '2')
    expect([code, out.trim().split('\n')]).toEqual([
      0,
      [expect.stringContaining('dlv_1'), expect.stringContaining('dlv_2')],
    ])
    expect(acked()).toEqual(['dlv_1', 'dlv_2'])
  })

  it.each(['0', '-1', 'x'])('takes no %s for how many', async (count) => {
    queue([deliveries(1), 'stays'])
    const { code, err } = await receive('--ack', `--count=${count}`)
    expect([code, err]).toEqual([2, expect.stringContaining(`${count} is not a whole number`)])
    expect(wire.received).toHaveLength(0)
  })

  it('ends when it can not acknowledge, and says at once what can never be received', async () => {
    wire.says(
      json({ id: 'obj_x' }),
      events(deliveries(1), 'stays'),
      problem(409, { code: 'receiver_unfit', detail: 'no', retryable: false }),
    )
    expect((await receive('--ack')).code).toBe(4)
    wire.says(problem(404, { code: 'not_found', detail: 'no' }))
    expect((await receive()).code).toBe(3)
    expect(wire.received).toHaveLength(1)
  })
})
