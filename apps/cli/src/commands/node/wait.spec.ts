import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json } from '../../../../../test/support/wire-server.js'

const id = 'node_01jd0000000000000000000000'
const since = '2026-01-01T00:00:00.000Z'

let svc: SvcCommand
let wire: SvcCommand['wire']
beforeAll(async () => {
  svc = await SvcCommand.start()
  wire = svc.wire
})
afterAll(() => svc.stop())

describe('svc node wait', () => {
  it('asks again until the node has one of the statuses', async () => {
    wire.says(
      json({ node: { id, status: 'active' }, reached: false }),
      json({ node: { id, status: 'done' }, reached: true }),
    )
    const { code, out } = await svc.run(['node', 'wait', id, '--status', 'done,dead'])
    expect([code, out]).toEqual([0, `${id}  done\n`])
    expect(wire.received.map(({ method, path, body }) => [method, path, body])).toEqual(
      Array(2).fill(['POST', `/v1/nodes/${id}/wait`, { timeout: 60, status: ['done', 'dead'] }]),
    )
  })

  it('fails when the time has passed', async () => {
    wire.says(json({ node: { id, status: 'active' }, reached: false }))
    const { code, err } = await svc.run(['node', 'wait', id, '--timeout', '0'])
    expect(code).toBe(1)
    expect(err).toContain(`node ${id} is still active`)
  })

  it('inside a node is its own wait', async () => {
    const until = '2026-01-01T01:00:00.000Z'
    wire.says(json({ node: { id, status: 'active', waiting: { since, until, reason: 'a sign' } }, reached: false }))
    const { code, out } = await svc.run(['node', 'wait', '--timeout', '3600', '--reason', 'a sign'], {
      env: { SVC_NODE_ID: id },
    })
    expect([code, out]).toEqual([0, `It waits as soon as its turn ends, until ${until} at the latest.\n`])
    expect(wire.only.body).toEqual({ timeout: 3600, reason: 'a sign' })
  })

  it('outside of one needs an id', async () => {
    expect(await svc.run(['node', 'wait'])).toMatchObject({ code: 2 })
  })
})

describe('svc node faults', () => {
  it('lists what a node has had', async () => {
    const fault = { kind: 'rate_limit', message: 'slow down', engagement: 1, turn: 3, tries: 2, since, last_at: since }
    wire.says(json({ data: [{ ...fault, ended_at: null }], next_cursor: null, has_more: false }))
    const { code, out } = await svc.run(['node', 'faults', id, '--limit', '5'])
    expect(code).toBe(0)
    expect(out).toMatch(/KIND.*SINCE.*TRIES.*ENDED.*TURN.*MESSAGE\nrate_limit {2}.*2 {6}no {5}3 {5}slow down/)
    expect(wire.only.path).toBe(`/v1/nodes/${id}/faults?limit=5`)
  })
})

describe('svc node retry', () => {
  it('says whether the node waited', async () => {
    wire.says(json({ retried: true }))
    expect(await svc.run(['node', 'retry', id])).toMatchObject({ code: 0, out: 'It is being tried again.\n' })
    wire.says(json({ retried: false }))
    expect((await svc.run(['node', 'retry', id])).out).toContain('at work')
  })
})
