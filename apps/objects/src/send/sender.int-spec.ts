import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { natsUrlAs } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import { retryDelays } from './retry.schedule.js'
import { holdFor } from './sender.js'
import { Sending } from './sending.fixture.js'
import { answers, verified, WebhookReceiver } from './webhook.receiver.fixture.js'

const program = new URL('../../../../dist/apps/objects/src/main.js', import.meta.url).pathname

let sending: Sending
let receiver: WebhookReceiver
const receivers: WebhookReceiver[] = []

const listen = async (): Promise<WebhookReceiver> => {
  const started = await WebhookReceiver.start()
  receivers.push(started)
  return started
}

beforeEach(async () => {
  sending = await Sending.start()
  receiver = await listen()
})
afterEach(async () => {
  const stopping = sending.stop()
  for (const one of receivers.splice(0)) await one.close()
  await stopping
})

const numbers = (count: number, from = 1): number[] => Array.from({ length: count }, (_, at) => from + at)
const arrived = (at = receiver): unknown[] => at.messages.map(({ data }) => data)
const sorted = (list: readonly unknown[]): unknown[] => [...list].sort((a, b) => Number(a) - Number(b))
const failures = (): Promise<unknown[]> => sending.objects.database.query('SELECT * FROM objects.failures')

describe('what is published', () => {
  it('is sent to an address at once, signed, and is acknowledged by its answer', async () => {
    const { secret } = await sending.hook('hook', receiver.url)
    await sending.publish({ n: 1 })
    await sending.untilAcked('hook')
    const [request] = receiver.requests
    if (!request) throw new Error('nothing came')
    const [delivery] = await sending.deliveries('hook')
    expect(verified(request, secret)).toMatchObject({ id: delivery?.id, type: 'e', data: { n: 1 }, seq: 1 })
    expect(delivery).toMatchObject({ state: 'acked', attempt: 0, last_error: null })
  })

  it('leaves one range and nobody who holds the receiver, however much it was', async () => {
    const { id } = await sending.hook('hook', receiver.url)
    await sending.publish(...numbers(300))
    await sending.untilAcked('hook')
    expect(sorted(arrived())).toEqual(numbers(300))
    await waitFor(async () => (await sending.hold(id)).holder === null)
    expect(await sending.hold(id)).toEqual({ holder: null, held_until: null, due_at: null })
    expect(await failures()).toEqual([])
    const [{ ranges } = {}] = await sending.objects.database.query(
      `SELECT (SELECT count(*)::int FROM unnest(acked)) AS ranges FROM objects.acks WHERE receiver_id = '${id}'`,
    )
    expect(ranges).toBe(1)
  })

  it('is on its way to one address eight times at most', async () => {
    let [open, most] = [0, 0]
    receiver.answer = (response) => {
      open += 1
      most = Math.max(most, open)
      setImmediate(() => {
        open -= 1
        response.writeHead(204).end()
      })
    }
    await sending.hook('hook', receiver.url)
    await sending.publish(...numbers(200))
    await sending.untilAcked('hook')
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(8)
  })

  it('reaches one receiver while another one hangs', async () => {
    const slow = await listen()
    slow.answer = answers.hang
    await sending.hook('slow', slow.url)
    await sending.hook('hook', receiver.url)
    await sending.publish(...numbers(50))
    await sending.untilAcked('hook')
    expect(slow.requests).toHaveLength(1)
    expect((await sending.retrieve('slow')).receiver_state).toMatchObject({ pending: 50, status: 'active' })
  })

  it('comes while an older delivery of the same receiver hangs', async () => {
    receiver.answer = (response, { body }) => {
      if (!body.includes('"slow"')) response.writeHead(204).end()
    }
    await sending.hook('hook', receiver.url)
    await sending.publish(1, 2, 3)
    await sending.untilAcked('hook')
    await sending.publish(4, 'slow', 5)
    await waitFor(() => arrived().includes('slow'))
    await sending.publish(6)
    await waitFor(() => arrived().includes(6))
  })
})

describe('a delivery that fails', () => {
  it('is tried on the schedule, then is dead, and somebody is told', async () => {
    const { id } = await sending.hook('hook', receiver.url)
    receiver.answer = answers.status(500, 'out of order')
    await sending.publish('first')
    for (const [at, delay] of retryDelays.entries()) {
      const failed = await sending.until('hook', { attempt: at + 1, state: 'failed' })
      const wait = Date.parse(failed.next_attempt_at ?? '') - sending.objects.clock.now()
      expect(wait).toBeLessThanOrEqual(delay * 1.1)
      expect(wait).toBeGreaterThan(delay - 4000)
      expect(failed.last_error).toBe('The receiver answered 500: out of order')
      sending.objects.clock.advance(wait - 300)
      await waitFor(async () => (await sending.hold(id)).holder === null)
      expect(receiver.requests).toHaveLength(at + 1)
      sending.objects.clock.advance(400)
    }
    await sending.until('hook', { attempt: 10, state: 'dead', next_attempt_at: null })
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect((await sending.retrieve('hook')).receiver_state).toMatchObject({
      status: 'paused',
      reason: 'dead',
      pending: 1,
      failed: 0,
      dead: 1,
    })
    await waitFor(() => sending.concerns.length === 1)
    expect(sending.concerns[0]).toMatchObject({
      ref: id,
      version: 1,
      concern: {
        name: 'hook',
        message: expect.stringMatching(/failed 10 times: The receiver answered 500: out of order/),
        remedy: expect.stringMatching(/svc custom-object resume hook/),
      },
    })

    // what comes meanwhile waits
    receiver.answer = answers.status(204)
    await sending.publish('second')
    sending.objects.clock.advance(60_000)
    await waitFor(async () => (await sending.hold(id)).due_at === null)
    expect(receiver.requests).toHaveLength(10)

    await sending.objects.call('customObjects.resume', { ref: 'hook' })
    await waitFor(() => arrived().includes('second'))
    await waitFor(() => sending.concerns.length === 2)
    expect(sending.concerns[1]).toEqual({ ref: id, version: 2, concern: null })
    expect(await sending.until('hook', { state: 'dead' })).toMatchObject({ attempt: 10 })

    await sending.objects.call('customObjects.deliveries.replay', { ref: 'hook' })
    await sending.untilAcked('hook')
    expect(arrived().filter((data) => data === 'first')).toHaveLength(11)
    expect(await failures()).toEqual([])
  }, 60_000)

  it('waits as long as the receiver asks', async () => {
    await sending.hook('hook', receiver.url)
    receiver.answer = answers.status(429, '', { 'retry-after': '3600' })
    await sending.publish(1)
    const failed = await sending.until('hook', { state: 'failed' })
    const wait = Date.parse(failed.next_attempt_at ?? '') - sending.objects.clock.now()
    expect(wait).toBeGreaterThan(3_590_000)
    expect(wait).toBeLessThanOrEqual(3_600_000)
  })

  it('holds up nothing that comes after it', async () => {
    receiver.answer = (response, { body }) => {
      response.writeHead(JSON.parse(body).data % 3 === 0 ? 500 : 204).end()
    }
    await sending.hook('hook', receiver.url)
    await sending.publish(...numbers(12))
    await waitFor(async () => (await sending.retrieve('hook')).receiver_state?.failed === 4)
    expect((await sending.retrieve('hook')).receiver_state).toMatchObject({ pending: 4, status: 'active' })
    receiver.answer = answers.status(204)
    sending.objects.clock.advance(6000)
    await sending.untilAcked('hook')
    expect(receiver.requests).toHaveLength(16)
  })

  it('is not hurried after by all the others while nothing gets through', async () => {
    receiver.answer = answers.status(503)
    await sending.hook('hook', receiver.url)
    await sending.publish(...numbers(100))
    await waitFor(async () => (await sending.retrieve('hook')).receiver_state?.failed === 8)
    await sending.publish(101)
    expect(receiver.requests).toHaveLength(8)
    receiver.answer = answers.status(204)
    sending.objects.clock.advance(6000)
    await sending.untilAcked('hook')
  })

  it('that hangs ends after ten seconds, and says so', async () => {
    receiver.answer = answers.hang
    await sending.hook('hook', receiver.url)
    await sending.publish(1)
    await waitFor(() => receiver.requests.length === 1)
    sending.objects.clock.advance(10_001)
    const failed = await sending.until('hook', { state: 'failed' })
    expect(failed.last_error).toBe('The receiver did not answer within 10 seconds.')
  })
})

describe('a receiver', () => {
  it('that answers 410 is sent nothing more, until somebody resumes it', async () => {
    const { id } = await sending.hook('hook', receiver.url)
    receiver.answer = answers.status(500)
    await sending.publish(1)
    await sending.until('hook', { attempt: 1, state: 'failed' })
    // its next try would come in five minutes
    receiver.answer = answers.status(410)
    sending.objects.clock.advance(6000)
    await waitFor(async () => (await sending.retrieve('hook')).receiver_state?.reason === 'gone')
    await sending.publish(2, 3)
    await waitFor(() => sending.concerns.length === 1)
    expect(sending.concerns[0]).toMatchObject({ ref: id, concern: { message: expect.stringContaining('410') } })
    expect(receiver.requests).toHaveLength(2)
    receiver.answer = answers.status(204)
    await sending.objects.call('customObjects.resume', { ref: 'hook' })
    await sending.untilAcked('hook')
    expect(sorted(arrived())).toEqual([1, 1, 1, 2, 3])
  })

  it('that is paused is sent nothing; what came meanwhile is sent when it is resumed', async () => {
    const { id } = await sending.hook('hook', receiver.url)
    const paused = await sending.objects.call('customObjects.pause', { ref: 'hook' })
    expect(paused.receiver_state).toMatchObject({ status: 'paused', reason: 'asked' })
    await sending.publish(...numbers(5))
    sending.objects.clock.advance(60_000)
    await waitFor(async () => (await sending.hold(id)).due_at === null)
    expect(receiver.requests).toEqual([])
    const resumed = await sending.objects.call('customObjects.resume', { ref: 'hook' })
    expect(resumed.receiver_state).toMatchObject({ status: 'active', reason: null, paused_at: null })
    await sending.untilAcked('hook')
    expect(sending.concerns).toEqual([])
  })

  it('that is paused while something is on its way has the answer counted', async () => {
    let answer = (): void => undefined
    receiver.answer = (response) => {
      answer = () => response.writeHead(204).end()
    }
    await sending.hook('hook', receiver.url)
    await sending.publish(1, 2)
    await waitFor(() => receiver.requests.length === 1)
    await sending.objects.call('customObjects.pause', { ref: 'hook' })
    answer()
    await waitFor(async () => (await sending.retrieve('hook')).receiver_state?.pending === 1)
    expect(receiver.requests).toHaveLength(1)
  })

  it('that is a queue, or is none, is neither paused nor resumed', async () => {
    await sending.register('queue', { type: 'queue' })
    for (const ref of ['queue', 'source'])
      for (const name of ['customObjects.pause', 'customObjects.resume'] as const)
        await expect(sending.objects.call(name, { ref })).rejects.toMatchObject({ code: 'receiver_unfit' })
    await expect(sending.objects.call('customObjects.pause', { ref: 'nobody' })).rejects.toMatchObject({
      code: 'not_found',
    })
  })
})

describe('several processes', () => {
  it('never send to one receiver at the same time: each delivery comes once', async () => {
    const others = await Promise.all(numbers(4).map(listen))
    await Promise.all(numbers(2).map(() => sending.objects.another()))
    for (const [at, other] of others.entries()) await sending.hook(`hook-${at}`, other.url)
    for (let round = 0; round < 20; round += 1) await sending.publish(...numbers(10, round * 10))
    for (const [at, other] of others.entries()) {
      await sending.untilAcked(`hook-${at}`)
      expect(sorted(arrived(other))).toEqual(numbers(200, 0))
    }
  })

  it('take over what one leaves that stops, at once', async () => {
    receiver.answer = answers.hang
    const { id } = await sending.hook('hook', receiver.url)
    await sending.publish(1)
    await waitFor(() => receiver.requests.length === 1)
    let stopped = false
    const stopping = sending.objects.stopService().then(() => {
      stopped = true
    })
    await waitFor(() => {
      sending.objects.clock.advance(1000)
      return stopped
    })
    await stopping
    expect(await sending.hold(id)).toMatchObject({ holder: null })
    expect(await failures()).toEqual([])
    receiver.answer = answers.status(204)
    await sending.objects.another()
    await sending.untilAcked('hook')
  })

  it('write nothing about a receiver that another one holds by now', async () => {
    let answer = (): void => undefined
    receiver.answer = (response) => {
      answer = () => response.writeHead(500).end()
    }
    const { id } = await sending.hook('hook', receiver.url)
    await sending.publish(1)
    await waitFor(() => receiver.requests.length === 1)
    const itsHold = 60_000
    const until = new Date(sending.objects.clock.now() + itsHold)
    await sending.objects.database.query(
      `UPDATE objects.receivers SET holder = 'another', held_until = '${until.toISOString()}' WHERE id = '${id}'`,
    )
    answer()
    receiver.answer = answers.status(204)
    sending.objects.clock.advance(15_000)
    await sending.publish(2)
    expect(await failures()).toEqual([])
    expect(await sending.hold(id)).toMatchObject({ holder: 'another' })
    expect(receiver.requests).toHaveLength(1)
    sending.objects.clock.advance(itsHold)
    await sending.untilAcked('hook')
    expect(sorted(arrived())).toEqual([1, 1, 2])
  })
})

describe('a process that dies', () => {
  let child: ChildProcess

  const start = (): ChildProcess => {
    const { database, dataDir, nats } = sending.objects
    return spawn(process.execPath, [program], {
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: database.urlFor('objects'),
        NATS_URL: natsUrlAs(nats, 'objects'),
        SVC_DATA_DIR: dataDir,
        SVC_HEALTH_LISTEN: '127.0.0.1:0',
        SVC_LOG_LEVEL: 'warn',
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
  }
  afterEach(() => {
    child.kill('SIGKILL')
  })

  it('repeats nothing but what was on its way, once its hold is over', async () => {
    await sending.hook('hook', receiver.url)
    await sending.publish(...numbers(100))
    await sending.untilAcked('hook')
    await sending.objects.stopService()
    child = start()
    const before = receiver.requests.length
    receiver.answer = (response, request) => {
      if (receiver.requests.length - before <= 30) answers.status(204)(response, request)
    }
    await waitFor(() => sending.publish(...numbers(100, 101)).then(() => true), { interval: 100 })
    await waitFor(() => receiver.requests.length - before > 30)
    await waitFor(async () => {
      const [row] = await sending.objects.database.query<{ acked_count: string }>(
        `SELECT acked_count FROM objects.acks WHERE acked_count >= 130`,
      )
      return row
    })
    child.kill('SIGKILL')
    await once(child, 'exit')
    const hanging = receiver.requests.length - before - 30
    expect(hanging).toBeLessThanOrEqual(8)
    receiver.answer = answers.status(204)
    await sending.objects.another()
    sending.objects.clock.advance(holdFor + 1000)
    await sending.untilAcked('hook')
    expect(new Set(arrived()).size).toBe(200)
    expect(receiver.requests).toHaveLength(200 + hanging)
  }, 60_000)
})
