import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { trusted } from '../../../../../test/support/doctor-answers.js'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json, problem } from '../../../../../test/support/wire-server.js'

const sentence = 'I know what this means.'
const none = {
  hosts: [{ host_id: 'local', level: 'none', detail: 'bubblewrap is not installed' }],
  sentence,
  consent: null,
}
const agreed = { ...none, consent: { words: sentence, by: 'owner', at: '2026-01-02T00:00:00.000Z' } }

describe('svc sys sandbox', () => {
  let svc: SvcCommand
  let wire: SvcCommand['wire']

  beforeAll(async () => {
    svc = await SvcCommand.start()
    wire = svc.wire
  })
  afterAll(() => svc.stop())

  it('shows what holds the programs of nodes on each host', async () => {
    wire.says(json(none))
    const { code, out } = await svc.run(['sys', 'sandbox'])
    expect(code).toBe(0)
    expect(out).toMatch(/local\s+none\s+bubblewrap is not installed/)
    expect(out).toContain('svc sys sandbox --consent')
  })

  it('says nothing of consent while no host has reported, as right after a start', async () => {
    wire.says(json({ ...none, hosts: [] }))
    const { code, out } = await svc.run(['sys', 'sandbox'])
    expect([code, out]).toEqual([0, 'No host has said yet what holds them: ask again in a moment.\n'])
  })

  it('sends the words that were typed, and nothing but them', async () => {
    wire.says(json(none), json(agreed))
    const { code, out } = await svc.run(['sys', 'sandbox', '--consent'], { input: `${sentence}\n` })
    expect(code).toBe(0)
    expect(wire.received[1]).toMatchObject({ method: 'POST', path: '/v1/sandbox/consent', body: { words: sentence } })
    expect(out).toContain('You consented on 2026-01-02')
  })

  it('fails when the daemon takes other words for no consent', async () => {
    wire.says(json(none), problem(422, { code: 'validation_failed' }))
    expect((await svc.run(['sys', 'sandbox', '--consent'], { input: 'yes\n' })).code).not.toBe(0)
  })

  it('takes the consent back', async () => {
    wire.says(json(agreed), json(none))
    const { code } = await svc.run(['sys', 'sandbox', '--revoke'])
    expect(code).toBe(0)
    expect(wire.received[1]).toMatchObject({ method: 'DELETE', path: '/v1/sandbox/consent' })
  })

  it('is no command of an agent', async () => {
    const { code, err } = await svc.run(['sys', 'sandbox'], { env: { SVC_NODE_ID: 'node_x' } })
    expect(code).not.toBe(0)
    expect(err).toContain('sandbox')
  })
})

describe('svc sys doctor', () => {
  let svc: SvcCommand

  beforeAll(async () => {
    svc = await SvcCommand.start()
  })
  afterAll(() => svc.stop())

  const status = {
    version: '0.1.0',
    ready: true,
    started_at: '2026-01-01T00:00:00.000Z',
    base_url: 'http://127.0.0.1:7420',
    parts: [{ name: 'host', state: 'ready', detail: null, version: '0.1.0' }],
    nodes: {},
    brokers: { live: 0, warm: 1, cap: 8 },
    sandbox: [],
    limits: {},
  }
  const findingOf = async (sandbox: unknown) => {
    const answers: Record<string, unknown> = {
      '/v1/status': status,
      '/v1/sandbox': sandbox,
      ...trusted,
      '/v1/model-auth/readiness': { ready: false, providers: [], strengths: [], remedy: 'add one' },
    }
    svc.wire.says((response, request) => json(answers[request.path.split('?')[0] as string])(response, request))
    const { out } = await svc.run(['sys', 'doctor', '--json'])
    const { findings } = JSON.parse(out) as { findings: { name: string; state: string; remedy?: string }[] }
    return findings.find(({ name }) => name === 'sandbox')
  }

  it('says what holds programs, and what to do where nothing does', async () => {
    const host = { host_id: 'local', detail: 'here' }
    const at = (level: string, given: unknown = null) => ({ hosts: [{ ...host, level }], sentence, consent: given })
    expect(await findingOf(at('bubblewrap'))).toMatchObject({ state: 'ok' })
    expect(await findingOf(at('account'))).toMatchObject({ state: 'warn' })
    expect(await findingOf(at('none'))).toMatchObject({
      state: 'fail',
      remedy: expect.stringContaining('svc sys sandbox --consent'),
    })
    expect(await findingOf(at('none', agreed.consent))).toMatchObject({ state: 'warn' })
  })

  // a host goes on over `svc sys down`: its level stayed, and the advice to start the daemon again led nowhere
  it('says to start the host again, and which setting asks for the level', async () => {
    const hosts = [{ host_id: 'local', level: 'none', detail: 'SVC_SANDBOX=none' }]
    const { remedy } = (await findingOf({ hosts, sentence, consent: null })) ?? {}
    expect(remedy).toContain('take that setting away')
    expect(remedy).toContain('svc sys down --nodes')
  })
})
