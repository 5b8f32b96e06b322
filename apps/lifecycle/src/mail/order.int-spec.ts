import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { take } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, started } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

/** Rows as another moment would have left them. */
const write = async (sql: string): Promise<void> => {
  const { epoch } = await lifecycle.call('lifecycle.status', {})
  await lifecycle.database.query(`SET svc.epoch = '${epoch}'; ${sql}`)
}
const bodies = (mail: readonly { body: string }[]): string[] => mail.map(({ body }) => body)

describe('mail', () => {
  // Faults 23 and 24: names made of the time let the second of two take the place of the first.
  it('of one millisecond, and reports of one second, are all there, in order', async () => {
    const { node: parent, broker, assignment } = await lifecycle.running()
    await broker.append(started(1, assignment.mail))
    const child = await lifecycle.running({ parent_id: parent.id })
    await Promise.all(Array.from({ length: 30 }, (_, at) => lifecycle.message(parent.id, `message ${at}`)))
    for (let at = 0; at < 5; at += 1) await child.broker.push('update', `report ${at}`)

    await write("UPDATE canvas.mail SET created_at = '2026-01-01'; UPDATE canvas.reports SET created_at = '2026-01-01'")

    const { mail } = await broker.claim()

    expect(new Set(mail.map(({ created_at }) => created_at)).size).toBe(1)
    expect(mail.map(({ seq }) => seq)).toEqual(mail.map((_, at) => (mail[0]?.seq ?? 0) + at))
    expect(new Set(mail.map(({ id }) => id)).size).toBe(35)
    expect(bodies(mail.slice(30))).toEqual([0, 1, 2, 3, 4].map((at) => `report ${at}`))
    const reports = await lifecycle.call('nodes.reports.list', { id: child.node.id, limit: 50 })
    expect(bodies(reports.data)).toEqual([0, 1, 2, 3, 4].map((at) => `report ${at}`))
  })

  // Fault 22: a watcher that looked only at what came after it never saw what was there.
  it('that came before its reader connected is announced to it', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.append(started(1, assignment.mail))
    await lifecycle.message(node.id, 'early', 'urgent')
    const told = await take(broker.signals(), ({ type }) => type === 'mail')
    expect(told.at(-1)).toEqual({ type: 'mail', urgent: true, critical: false })
    expect(bodies((await broker.claim()).mail)).toEqual(['early'])
  })

  // Fault 25: a notice was taken in by a turn that failed, and nobody ever acted on it.
  it('that a failed turn took in is before the eyes of the next one', async () => {
    const { node, broker, assignment } = await lifecycle.running({ engine: 'exec' })
    const taken = assignment.mail.map(({ id }) => id)
    const fault = { kind: 'rate_limit', message: 'slow down', retry_after_ms: 1000 } as const
    await broker.turn(1, assignment.mail, { status: 'failed', fault })
    const { assignment: next } = await lifecycle.bound(node.id, 2)
    expect(next.mail).toEqual([])
    const [first, last] = [next.journal[0]?.entry, next.journal.at(-1)?.entry]
    expect(first).toMatchObject({ type: 'turn_started', mail: taken })
    expect(last).toMatchObject({ type: 'turn_ended', status: 'failed' })
  })
})

describe('ten thousand messages to one node', () => {
  // Fault 50.
  it('are read in the order in which each was sent, none twice, and one more is refused', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.append(started(1, assignment.mail))
    const stored = 8000
    const senders = 20
    const each = 100
    await write(`INSERT INTO canvas.mail (id, node_id, seq, tier, kind, body, source, engagement, created_at)
      SELECT 'm' || n, '${node.id}', n + 1, 'normal', 'message', n, '{"kind":"owner","id":null}', 1, now()
        FROM generate_series(1, ${stored}) n;
      UPDATE canvas.counters SET mail_seq = ${stored + 1} WHERE node_id = '${node.id}'`)
    const send = async (sender: number): Promise<void> => {
      for (let number = 0; number < each; number += 1) await lifecycle.message(node.id, `${sender}:${number}`)
    }
    await Promise.all(Array.from({ length: senders }, (_, sender) => send(sender)))
    expect(await failure(lifecycle.message(node.id, 'one more'))).toMatchObject({ code: 'quota_exceeded' })

    const read: { seq: number; body: string }[] = []
    for (;;) {
      const { mail } = await broker.call('nodes.mail.claim', { limit: 500, steering: false })
      if (mail.length === 0) break
      read.push(...mail)
      await broker.call('nodes.mail.acknowledge', { ids: mail.map(({ id }) => id) })
    }

    expect(read).toHaveLength(stored + senders * each)
    expect(read.map(({ seq }) => seq)).toEqual(read.map((_, at) => at + 2))
    for (let sender = 0; sender < senders; sender += 1) {
      const own = read.flatMap(({ body }) => (body.startsWith(`${sender}:`) ? [Number(body.split(':')[1])] : []))
      expect(own).toEqual(own.map((_, at) => at))
    }
  }, 120_000)
})
