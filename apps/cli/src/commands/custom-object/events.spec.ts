import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json } from '../../../../../test/support/wire-server.js'

const page = (data: unknown[]) => json({ data, next_cursor: null, has_more: false })

let svc: SvcCommand
let wire: SvcCommand['wire']
beforeAll(async () => {
  svc = await SvcCommand.start()
  wire = svc.wire
})
afterAll(() => svc.stop())

const run = (...args: string[]) => svc.run(['custom-object', ...args])

describe('svc custom-object events', () => {
  it('prints the whole payload of one event, and says when it is not kept', async () => {
    const event = { id: 'evt_x', seq: 7, event: 'a', payload: { log: 'ü'.repeat(20_000) } }
    wire.says(page([event]))
    const { code, out } = await run('events', 'build-server', '--id', 'evt_x')
    expect([code, JSON.parse(out)]).toEqual([0, event.payload])
    expect(wire.only.path).toBe('/v1/custom-objects/build-server/events?id=evt_x')
    wire.says(page([event]))
    expect(JSON.parse((await run('events', 'build-server', '--id', 'evt_x', '--json')).out)).toEqual(event)
    wire.says(page([]))
    const gone = await run('events', 'build-server', '--id', 'evt_x')
    expect(gone).toMatchObject({ code: 1, out: '' })
    expect(gone.err).toMatch(/has no event evt_x, or has it no more[\s\S]*30 days/)
    expect((await run('events', 'build-server', '--id', 'evt_x', '--all')).code).toBe(2)
  })
})
