import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../../test/support/svc-command.js'
import { json } from '../../../../../../test/support/wire-server.js'

const access = {
  listen: [
    { address: '0.0.0.0:7430', tls: true, state: 'open', detail: null },
    { address: '192.0.2.7:7431', tls: false, state: 'failed', detail: 'another program listens there' },
  ],
  base_urls: ['http://127.0.0.1:7420'],
  app_base_url: 'http://127.0.0.1:7421',
  hosts: ['svc.example', 'old.example'],
  origins: ['https://console.example'],
  version: 4,
  updated_at: '2026-01-01T00:00:00.000Z',
}

let svc: SvcCommand
let wire: SvcCommand['wire']
beforeAll(async () => {
  svc = await SvcCommand.start()
  wire = svc.wire
})
afterAll(() => svc.stop())

const close = (...args: string[]) => {
  wire.says(json(access))
  return svc.run(['sys', 'access', 'close', ...args])
}
const changes = () => wire.received.filter(({ method }) => method !== 'GET').map(({ path, body }) => [path, body])

describe('svc sys access list', () => {
  it('shows what was opened, and why it is not', async () => {
    wire.says(json(access))
    const { code, out } = await svc.run(['sys', 'access', 'list'])
    expect(code).toBe(0)
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['KIND', 'OPENED', 'STATE', 'DETAIL'],
      ['address', '0.0.0.0:7430', 'open'],
      ['address', '192.0.2.7:7431', 'failed', 'another program listens there'],
      ['host', 'svc.example', 'open'],
      ['host', 'old.example', 'open'],
      ['origin', 'https://console.example', 'open'],
      [''],
    ])
  })
})

describe('svc sys access close', () => {
  it.each<[string, object]>([
    ['0.0.0.0:7430', { listen: ['192.0.2.7:7431'] }],
    ['192.0.2.7:7431', { listen: ['0.0.0.0:7430'] }],
    ['SVC.example', { hosts: ['old.example'] }],
    ['https://console.example/', { origins: [] }],
  ])('%s leaves everything else as it was', async (what, body) => {
    const { code, out } = await close(what)
    expect([code, out]).toEqual([0, `${what} is closed.\n`])
    expect(changes()).toEqual([['/v1/access', body]])
  })

  it('--all closes everything', async () => {
    expect((await close('--all')).code).toBe(0)
    expect(changes()).toEqual([['/v1/access', { listen: [], hosts: [], origins: [] }]])
  })

  it('of what is not open fails, says where to look, and changes nothing', async () => {
    const { code, err } = await close('0.0.0.0:74')
    expect([code, err]).toEqual([1, expect.stringContaining('svc sys access list')])
    expect(changes()).toEqual([])
  })

  it.each([[[]], [['0.0.0.0:7430', '--all']]])('is not meant by %j', async (args) => {
    expect((await close(...args)).code).toBe(2)
    expect(changes()).toEqual([])
  })

  it('is no command of an agent', async () => {
    const env = { SVC_NODE_ID: 'node_x', SVC_SCOPES: 'svc:llm svc:act' }
    expect((await svc.run(['sys', 'access', 'close', '--all'], { env })).code).toBe(6)
  })
})
