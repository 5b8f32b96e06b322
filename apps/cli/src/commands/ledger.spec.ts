import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../test/support/svc-command.js'
import { json } from '../../../../test/support/wire-server.js'
import { now } from '../clock.js'

const cron = 'cron_01jd0000000000000000000000'
const node = 'node_01jd0000000000000000000000'
const entry = (more: object = {}) => ({
  id: 'slot:1',
  kind: 'slot',
  state: 'omitted',
  cause: 'window',
  message: 'It was too late to make up for it.',
  at: '2026-01-02T08:00:00.000Z',
  planned_at: '2026-01-01T08:00:00.000Z',
  happened_at: null,
  lateness_ms: null,
  count: 12,
  cron_id: cron,
  node_id: null,
  request_id: null,
  name: 'issues',
  app_id: null,
  action: { method: 'POST', path: `/v1/crons/${cron}/run`, command: `svc cron run ${cron}` },
  ...more,
})
const page = (data: unknown[], more = {}) => json({ data, next_cursor: null, has_more: false, absent: [], ...more })

let svc: SvcCommand
let wire: SvcCommand['wire']
beforeAll(async () => {
  svc = await SvcCommand.start()
  wire = svc.wire
})
afterAll(() => svc.stop())

describe('svc ledger', () => {
  it('shows when, what, why, how late, and the command that does it now', async () => {
    const about = { message: 'It was fired 1 minute late.', name: null, action: null }
    const late = entry({ state: 'late', cause: 'late', count: 1, lateness_ms: 90_000, ...about })
    wire.says(page([entry(), late]))
    const { code, out, err } = await svc.run(['ledger'])
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(
      /^2026-01-01T08:00:00Z +slot +omitted +- +issues \(12 slots\) +svc cron run cron_01jd0{22} +It was too late to make up for it\.$/m,
    )
    expect(out).toMatch(/^2026-01-01T08:00:00Z +slot +late +1m 30s +cron_01jd0{22} +- +It was fired 1 minute late\.$/m)
  })

  it('says of what it stands for so many: slots, deliveries, or publications that were refused', async () => {
    const delivery = { kind: 'delivery', name: 'f1', count: 3 }
    wire.says(
      page([entry({ ...delivery, state: 'waiting', cause: 'paused' }), entry({ ...delivery, cause: 'queue_full' })]),
    )
    const { out } = await svc.run(['ledger'])
    expect(out).toMatch(/ delivery +waiting +- +f1 \(3 deliveries\) /)
    expect(out).toMatch(/ delivery +omitted +- +f1 \(3 publications\) /)
  })

  it('asks for what is wanted of it', async () => {
    wire.says(page([]))
    const options = ['--kind', 'slot', '--state', 'failed', '--node', node, '--cron', cron, '--app', 'app_1']
    await svc.run(['ledger', ...options, '--since', '2026-01-01T08:00:00Z', '--limit', '7', '--after', 'c', '--json'])
    const { searchParams } = new URL(wire.only.path, 'http://x')
    expect(Object.fromEntries(searchParams)).toEqual({
      kind: 'slot',
      state: 'failed',
      node_id: node,
      cron_id: cron,
      app_id: 'app_1',
      since: '2026-01-01T08:00:00.000Z',
      limit: '7',
      after: 'c',
    })
    wire.says(page([]))
    await svc.run(['ledger', '--since', '2h'])
    const since = Date.parse(new URL(wire.only.path, 'http://x').searchParams.get('since') ?? '')
    expect(Math.abs(now() - 7_200_000 - since)).toBeLessThan(60_000)
  })

  it('takes an object by its name or by its id', async () => {
    const id = 'obj_01jd0000000000000000000000'
    const asked = () => new URL(wire.received.at(-1)?.path ?? '', 'http://x').searchParams.get('object_id')
    wire.says(json({ id }), page([]))
    expect((await svc.run(['ledger', '--object', 'chat'])).code).toBe(0)
    expect([wire.received[0]?.path, asked()]).toEqual(['/v1/custom-objects/chat', id])
    wire.says(page([]))
    await svc.run(['ledger', '--object', id])
    expect([wire.received.length, asked()]).toEqual([1, id])
  })

  it('goes on page by page, and says whose entries are missing', async () => {
    wire.says(page([entry()], { has_more: true, next_cursor: 'c' }), page([entry()], { absent: ['lifecycle'] }))
    const { out, err } = await svc.run(['ledger', '--all'])
    expect(out.match(/svc cron run/g)).toHaveLength(2)
    expect(wire.received[1]?.path).toBe('/v1/ledger?after=c')
    expect(err).toBe('lifecycle did not answer: what they know is missing here\n')
  })

  it('refuses a time that is none', async () => {
    wire.says(page([]))
    expect((await svc.run(['ledger', '--since', 'lately'])).code).toBe(2)
    expect(wire.received).toHaveLength(0)
  })

  it('is for everybody who has a token', async () => {
    wire.says(page([]))
    const env = { SVC_NODE_ID: node, SVC_TOKEN: 'svc_node_x', SVC_SCOPES: '' }
    expect((await svc.run(['ledger', '--json'], { env })).code).toBe(0)
    expect((await svc.run(['ledger', '--help'], { env: { SVC_TOKEN: 'svc_pub_x' } })).code).toBe(6)
  })
})
