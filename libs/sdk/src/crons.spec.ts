import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { json, WireServer } from '../../../test/support/wire-server.js'
import { Client } from './client.js'
import type { CronsNextResponse, LedgerListResponse } from './index.js'

const id = 'cron_01jd0000000000000000000000'
const node = 'node_01jd0000000000000000000000'
const page = { data: [{ id }], next_cursor: null, has_more: false }

describe('schedules', () => {
  let wire: WireServer
  let client: Client

  beforeAll(async () => {
    wire = (await WireServer.start()).says(json({ id }))
    client = new Client({ baseUrl: wire.url })
  })
  afterAll(() => wire.stop())

  it.each<[string, (client: Client) => PromiseLike<unknown>, string, string]>([
    ['retrieve', ({ crons }) => crons.retrieve(id, { node_id: node }), 'GET', `/v1/crons/${id}?node_id=${node}`],
    ['list', ({ crons }) => crons.list({ status: 'active', limit: 5 }), 'GET', '/v1/crons?status=active&limit=5'],
    ['pause', ({ crons }) => crons.pause(id, { if_match: 3 }), 'POST', `/v1/crons/${id}/pause?if_match=3`],
    ['resume', ({ crons }) => crons.resume(id), 'POST', `/v1/crons/${id}/resume`],
    ['run', ({ crons }) => crons.run(id), 'POST', `/v1/crons/${id}/run`],
    ['delete', ({ crons }) => crons.delete(id), 'DELETE', `/v1/crons/${id}`],
    ['poke', ({ crons }) => crons.poke(), 'POST', '/v1/crons/poke'],
  ])('%s asks %s %s', async (_, ask, method, path) => {
    wire.says(json(page))
    await ask(client)
    expect(wire.only).toMatchObject({ method, path })
    expect(wire.only.body).toBeUndefined()
  })

  it('are armed with a key of their own, so that a repetition arms nothing more', async () => {
    wire.says(json({ id }, 201))
    const body = {
      schedule: { cron: '0 9 * * MON-FRI', tz: 'Europe/Berlin' },
      action: { type: 'message', node_id: node, body: 'good morning' },
    } as const
    expect(await client.crons.create(body)).toEqual({ id })
    expect(wire.only).toMatchObject({ method: 'POST', path: '/v1/crons', body })
    expect(wire.only.headers['idempotency-key']).toBeDefined()
  })

  it('have their times, their past and the ledger by any route', async () => {
    wire.says(json({ data: [] }))
    expect(await client.request<CronsNextResponse>('GET', `/v1/crons/${id}/next?count=3`)).toEqual({ data: [] })
    wire.says(json({ ...page, absent: [] }))
    expect((await client.request<LedgerListResponse>('GET', '/v1/ledger?kind=slot')).absent).toEqual([])
    expect(wire.only.path).toBe('/v1/ledger?kind=slot')
  })
})
