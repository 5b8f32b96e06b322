import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type Canvas, openCanvas, ownerContext, silent } from '#common/testing/canvas-database.js'
import { waitFor } from '#common/testing/wait-for.js'
import { Inbox } from './inbox.js'
import type { DueMessage } from './outbox.js'
import { type Deliver, OutboxRelay } from './outbox-relay.js'

let canvas: Canvas
let relays: OutboxRelay[]
beforeEach(async () => {
  canvas = await openCanvas()
  relays = []
})
afterEach(async () => {
  await Promise.all(relays.map((relay) => relay.stop()))
  await canvas.close()
})

const relay = (deliver: Deliver, poll?: number): OutboxRelay => {
  const made = new OutboxRelay({
    reader: canvas.database,
    outbox: canvas.outbox,
    deliver,
    log: silent,
    ...(poll && { poll }),
  })
  relays.push(made)
  made.start()
  return made
}
const send = (key: string) =>
  canvas.writer.transact(ownerContext(), async ({ tx }) => {
    tx.deliver({ key, target: 'models', type: 'usage', payload: { key } })
  })
const open = async (): Promise<number> =>
  (await canvas.database.query('SELECT 1 FROM canvas.outbox WHERE acknowledged_at IS NULL')).length
const due = () => canvas.database.query(`UPDATE canvas.outbox SET next_attempt_at = now()`)

describe('the outbox', () => {
  it('is delivered right after the commit, long before the slow poll, and kept as acknowledged', async () => {
    const got: DueMessage[] = []
    relay(async (message) => void got.push(message), 60_000)
    await waitFor(async () => (await open()) === 0)
    await send('a')
    await waitFor(async () => got.length === 1 && (await open()) === 0)
    expect(got[0]).toMatchObject({ key: 'a', target: 'models', type: 'usage', payload: { key: 'a' }, attempts: 1 })
    expect(await canvas.database.query('SELECT 1 FROM canvas.outbox')).toHaveLength(1)
  })

  it('tries a message again that was not taken, until it is', async () => {
    const tries: number[] = []
    relay(async ({ attempts }) => {
      tries.push(attempts)
      if (attempts < 3) throw new Error('not now')
    })
    await send('a')
    await waitFor(async () => tries.length === 3 && (await open()) === 0)
    expect(tries).toEqual([1, 2, 3])
  })

  it('is delivered after a restart, messages that a dead relay had claimed included', async () => {
    await send('a')
    await send('b')
    const dead = relay(() => new Promise(() => undefined))
    await waitFor(
      async () => (await canvas.database.query('SELECT 1 FROM canvas.outbox WHERE attempts = 1')).length === 2,
    )
    relays.splice(relays.indexOf(dead), 1)
    await due()
    const got: string[] = []
    relay(async ({ key }) => void got.push(key))
    await waitFor(async () => (await open()) === 0)
    expect(got.sort()).toEqual(['a', 'b'])
  })

  it('hands each message to one of several relays', async () => {
    const got: string[] = []
    const keys = Array.from({ length: 100 }, (_, at) => `k${at}`)
    await canvas.writer.transact(ownerContext(), async ({ tx }) => {
      for (const key of keys) tx.deliver({ key, target: 'models', type: 'usage', payload: {} })
    })
    for (const _ of [1, 2, 3]) relay(async ({ key }) => void got.push(key))
    await waitFor(async () => (await open()) === 0)
    expect(got.sort()).toEqual(keys.sort())
  })

  // Thousands of messages for a service that was stopped: each was tried and logged once a minute, for as long as it was.
  it('rests while a whole batch is not taken, however many wait, and goes on once one is', async () => {
    const many = 200
    await canvas.writer.transact(ownerContext(), async ({ tx }) => {
      for (let at = 0; at < many; at += 1) tx.deliver({ key: `k${at}`, target: 'models', type: 'usage', payload: {} })
    })
    let away = true
    const tries = { before: 0, after: 0 }
    const started = relay(async () => {
      tries[away ? 'before' : 'after'] += 1
      if (away) throw new Error('nobody serves it')
    }, 1500)
    await waitFor(() => tries.before > 0)
    started.wake()
    await waitFor(
      async () =>
        (await canvas.database.query('SELECT 1 FROM canvas.outbox WHERE last_error IS NOT NULL')).length === 32,
    )
    expect(tries.before).toBe(32)
    away = false
    await waitFor(async () => (await open()) === 0, { timeout: 20_000 })
    expect(tries.after).toBe(many)
  })

  it('takes a key once', async () => {
    await send('a')
    await send('a')
    expect(await open()).toBe(1)
  })
})

describe('the inbox', () => {
  it('lets a message that is delivered twice take effect once, and again when its effect was undone', async () => {
    const inbox = new Inbox('canvas')
    const effects: number[] = []
    const receive = (fail: boolean) =>
      canvas.writer.transact(ownerContext(), ({ tx }) =>
        inbox.once(tx, 'models', 'e1', async () => {
          if (fail) throw new Error('undone')
          effects.push(1)
        }),
      )
    await expect(receive(true)).rejects.toThrow('undone')
    expect([await receive(false), await receive(false)]).toEqual([true, false])
    expect(effects).toHaveLength(1)
  })
})
