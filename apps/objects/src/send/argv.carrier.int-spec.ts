import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Receiver } from '#common/contract/object.schema.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import { waitFor } from '#common/testing/wait-for.js'
import { named, RunningHost } from '../../../../test/support/running-host.js'
import { ArgvCarrier } from './argv.carrier.js'
import type { Outgoing } from './carrier.js'
import type { EventMessage } from './event.message.js'
import { holdFor } from './sender.js'
import { Sending } from './sending.fixture.js'

let sending: Sending
let host: RunningHost
let workDir: string

beforeEach(async () => {
  workDir = mkdtempSync('/var/tmp/svc-argv-work-')
  sending = await Sending.start()
  host = new RunningHost(mkdtempSync('/var/tmp/svc-argv-data-'), sending.objects.nats, {
    SVC_HEALTH_LISTEN: '127.0.0.1:0',
  })
  await host.start()
})
afterEach(async () => {
  await sending.stop()
  await host.close()
  rmSync(workDir, { recursive: true, force: true })
})

const place = (name: string): string => join(workDir, name)
const written = (name: string): string => {
  try {
    return readFileSync(place(name), 'utf8')
  } catch {
    return ''
  }
}
const program = (script: string, more: Partial<Extract<Receiver, { type: 'argv' }>> = {}) =>
  sending.register('program', { type: 'argv', argv: ['sh', '-c', script], cwd: workDir, ...more })

const never = new AbortController().signal
const delivery: Outgoing = {
  id: 'dlv_1',
  seq: 1,
  attempt: 1,
  planned_at: null,
  source_id: 'obj_2',
  source_name: 'source',
  event_id: 'evt_1',
  event: 'e',
  payload: null,
  published_by: { kind: 'owner', id: null },
  request_id: null,
  traceparent: null,
  tier: null,
  accepted_at: new Date(0),
}

describe('a delivery to a program', () => {
  it('is a line of JSON on its standard input, and exit code 0 acknowledges it; one after the other', async () => {
    await program('cat >> seen; echo "$SVC_DELIVERY_ID $SVC_EVENT $GREETING" >> names; env >> env', {
      env: { GREETING: 'hi' },
    })
    await sending.publish({ n: 1 }, { n: 2 }, { n: 3 })
    await sending.untilAcked('program')
    const deliveries = await sending.deliveries('program')
    const lines = written('seen').trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line) as EventMessage)).toMatchObject(
      [1, 2, 3].map((n) => ({ id: deliveries[n - 1]?.id, type: 'e', data: { n }, seq: n, source: { name: 'source' } })),
    )
    expect(written('names')).toBe(deliveries.map(({ id }) => `${id} e hi\n`).join(''))
    expect(written('env')).not.toMatch(/never-seen|NATS_URL|DATABASE_URL/)
  })

  it('fails by another exit code, whose last words are told, and is tried again', async () => {
    await program('cat > /dev/null; echo x >> tries; echo no disk >&2; [ -e well ]')
    await sending.publish(1)
    const failed = await sending.until('program', { state: 'failed' })
    expect(failed).toMatchObject({ attempt: 1, last_error: 'The program ended with exit code 1: no disk' })
    writeFileSync(place('well'), '')
    sending.objects.clock.advance(6000)
    await sending.untilAcked('program')
    expect(written('tries')).toBe('x\nx\n')
  })

  it('fails when there is no such program, which is told', async () => {
    await program('', { argv: ['/nowhere/at-all'] })
    await sending.publish(1)
    expect((await sending.until('program', { state: 'failed' })).last_error).toMatch(/at-all ENOENT/)
  })

  it('is run again when it is replayed, though its host knows what the first try said', async () => {
    await program('echo x >> tries; [ -e well ]')
    await sending.publish(1)
    await sending.until('program', { state: 'failed' })
    const dead = `UPDATE objects.failures SET state = 'dead', attempt = 10, next_attempt_at = NULL`
    await sending.objects.database.query(dead)
    writeFileSync(place('well'), '')
    await sending.objects.call('customObjects.deliveries.replay', { ref: 'program' })
    await sending.untilAcked('program')
    expect(written('tries')).toBe('x\nx\n')
  })

  describe('while its program runs and the receiver is changed', () => {
    const begins = (script = 'exit 1') => `echo first >> order; until [ -e go ]; do sleep 0.02; done; ${script}`
    /** Some questions of a sender later. */
    const later = (): Promise<unknown> => {
      let asked = 0
      return waitFor(() => {
        sending.objects.clock.advance(1000)
        asked += 1
        return asked > 20
      })
    }
    const change = (receiver: Partial<Receiver>) =>
      sending.objects.call('customObjects.update', {
        ref: 'program',
        receiver: { max_pending: 100_000, ...receiver } as Receiver,
        force: false,
      })
    const until = (pending: number) =>
      waitFor(async () => {
        sending.objects.clock.advance(1000)
        return (await sending.retrieve('program')).receiver_state?.pending === pending
      })

    // The other program was refused as somebody else's request, which burnt a try, and it began before the first one's end.
    it('goes to the other program once the first one has ended, and counts no try for it', async () => {
      const { id } = await program(begins('echo ends >> order'))
      await sending.publish(1)
      await waitFor(() => written('order') !== '')
      await change({ type: 'argv', argv: ['sh', '-c', 'echo other >> order; exit 1'], cwd: workDir })
      await waitFor(async () => (await sending.hold(id)).holder !== null)
      await later()
      expect(written('order')).toBe('first\n')
      expect((await sending.retrieve('program')).receiver_state).toMatchObject({ pending: 1, failed: 0 })
      writeFileSync(place('go'), '')
      await waitFor(() => {
        sending.objects.clock.advance(1000)
        return written('order').includes('other')
      })
      expect(written('order')).toBe('first\nends\nother\n')
      const failed = await sending.until('program', { state: 'failed' })
      expect(failed).toMatchObject({ attempt: 1, last_error: 'The program ended with exit code 1.' })
    })

    it('counts its answer when nothing but the number that may wait is changed', async () => {
      const { id } = await program(begins('exit 0'))
      await sending.publish(1)
      await waitFor(() => written('order') !== '')
      const { receiver } = await sending.retrieve('program')
      const { holder } = await sending.hold(id)
      await change({ ...receiver, max_pending: 50 } as Receiver)
      expect(await sending.hold(id)).toMatchObject({ holder })
      writeFileSync(place('go'), '')
      await until(0)
      expect(written('order')).toBe('first\n')
    })
  })

  // The host said again what it had said of the try with that number before the receiver was another one.
  it('is run again by a receiver that was another one meanwhile', async () => {
    await program('echo x >> tries; wc -l < tries >&2; exit 1')
    const { receiver } = await sending.retrieve('program')
    await sending.publish(1)
    const failure = (words: string) => ({ attempt: 1, last_error: `The program ended with exit code 1: ${words}` })
    await sending.until('program', failure('1'))
    for (const next of [{ type: 'queue' as const, max_pending: 100 }, receiver])
      await sending.objects.call('customObjects.update', { ref: 'program', receiver: next, force: false })
    // a sender that has just heard that it is a queue looks for it a little later
    sending.objects.clock.advance(5001)
    await sending.until('program', failure('2'))
  })

  it('waits, and does not count as tried, while the host is away', async () => {
    await host.kill('SIGTERM')
    const { id } = await program('echo x >> tries')
    await sending.publish(1)
    await waitFor(async () => {
      const { holder, held_until } = await sending.hold(id)
      return holder === null && held_until !== null
    })
    expect((await sending.retrieve('program')).receiver_state).toMatchObject({ pending: 1, failed: 0 })
    await host.startProcess()
    await waitFor(() => {
      sending.objects.clock.advance(1000)
      return written('tries') !== ''
    })
    await sending.untilAcked('program')
    expect(written('tries')).toBe('x\n')
  })

  describe('given to the carrier itself', () => {
    const carry = (argv: string[], within?: number) => {
      const { app } = sending.objects.service
      const [bus, settings] = [app.get(Bus, { strict: false }), app.get(SETTINGS, { strict: false }) as Settings]
      const carrier = new ArgvCarrier(bus, settings, sending.objects.clock, within)
      const signing = { secret: 1, former_secret: null, former_secret_until: null }
      const to = { id: 'obj_1', name: 'program', receiver_version: 1, ...signing }
      return carrier.carry({ ...to, receiver: { type: 'argv', argv, max_pending: 1 } }, [delivery], never)
    }

    it('ends with all that it started when its time is over', async () => {
      const outcomes = await carry(['sh', '-c', 'setsid sleep 986.1 & sleep 986.2'], 500)
      expect(outcomes).toEqual([{ kind: 'failed', error: 'The program did not end within 0.5 seconds.' }])
      for (const sleep of ['986.1', '986.2']) expect(named(`sleep ${sleep}`)).toEqual([])
    })

    // It waited for ever, as for a host that is away, and nobody was told.
    it.each([[['']], [['cat', 'a\0b']]])('counts as tried when its host can not start it: %j', async (argv) => {
      expect(await carry(argv)).toMatchObject([{ kind: 'failed' }])
    })
  })

  // The process that sends is gone with no word; the next one asks the host, which ran the program once.
  it('runs once though the process that began it is gone before its end', async () => {
    await program('echo x >> tries; until [ -e go ]; do sleep 0.02; done')
    await sending.publish(1)
    await waitFor(() => written('tries') !== '')
    let stopped = false
    const stopping = sending.objects.stopService().then(() => {
      stopped = true
    })
    await waitFor(() => {
      sending.objects.clock.advance(1000)
      return stopped
    })
    await stopping
    await sending.objects.another()
    sending.objects.clock.advance(holdFor)
    writeFileSync(place('go'), '')
    await waitFor(async () => {
      sending.objects.clock.advance(1000)
      return (await sending.retrieve('program')).receiver_state?.pending === 0
    })
    expect(written('tries')).toBe('x\n')
  })
})
