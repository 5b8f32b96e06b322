import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json } from '../../../../../test/support/wire-server.js'

const id = 'req_01jd0000000000000000000000'
const node = 'node_01jd0000000000000000000000'
const request = {
  id,
  title: 'Which way?',
  subtitle: null,
  status: 'pending',
  node_id: node,
  version: 3,
  created_at: '2026-01-01T00:00:00.000Z',
  deadline: null,
  default: null,
  response: null,
  pages: [
    {
      id: 'q1',
      kind: 'decision',
      title: 'Which way?',
      options: [
        { id: 'a', label: 'Left' },
        { id: 'b', label: 'Right' },
      ],
      multiSelect: false,
      allowFreetext: false,
    },
  ],
}

let svc: SvcCommand
let wire: SvcCommand['wire']
beforeAll(async () => {
  svc = await SvcCommand.start()
  wire = svc.wire
})
afterAll(() => svc.stop())

describe('svc human ask', () => {
  it('sends one page of the options, and what silence decides', async () => {
    wire.says(json(request))
    const deadline = '2090-01-01T00:00:00.000Z'
    const options = ['--option', 'a=Left', '--option', 'b', '--deadline', deadline, '--default', 'b', '--node', node]
    const { code, out } = await svc.run(['human', 'ask', 'Which way?', ...options])
    expect([code, out]).toEqual([0, `${id}  asked\n`])
    expect(wire.only).toMatchObject({ method: 'POST', path: '/v1/human/requests' })
    expect(wire.only.body).toEqual({
      title: 'Which way?',
      pages: [
        {
          id: 'q1',
          kind: 'decision',
          title: 'Which way?',
          options: [
            { id: 'a', label: 'Left' },
            { id: 'b', label: 'b' },
          ],
          multiSelect: false,
          allowFreetext: false,
        },
      ],
      node_id: node,
      deadline,
      default: [{ id: 'q1', selectedOptionId: 'b' }],
    })
  })

  it('waits for the answer when it is told to', async () => {
    const answered = { ...request, status: 'answered', response: [{ id: 'q1', selectedOptionId: 'a' }] }
    wire.says(json(request), json(request), json(answered))
    const { code, out } = await svc.run(['human', 'ask', 'Which way?', '--wait'])
    expect(code).toBe(0)
    expect(out).toContain('→ Left')
  })

  it('refuses a deadline that is no time', async () => {
    expect((await svc.run(['human', 'ask', 'x', '--deadline', 'soon'])).code).toBe(2)
  })
})

describe('svc human answer', () => {
  it('answers what it has read, by flags', async () => {
    wire.says(json(request), json({ ...request, status: 'answered' }))
    const { code } = await svc.run(['human', 'answer', id, '--choose', 'right'])
    expect(code).toBe(0)
    expect(wire.received.at(-1)).toMatchObject({ method: 'POST', path: `/v1/human/requests/${id}/respond` })
    expect(wire.received.at(-1)?.body).toEqual({ response: [{ id: 'q1', selectedOptionId: 'b' }], if_match: 3 })
  })

  it('asks nobody where no terminal is', async () => {
    wire.says(json(request))
    expect((await svc.run(['human', 'answer', id])).code).toBe(2)
  })

  it('does not answer what was resolved', async () => {
    wire.says(json({ ...request, status: 'dismissed' }))
    const { code, err } = await svc.run(['human', 'answer', id, '--choose', 'a'])
    expect(code).toBe(1)
    expect(err).toContain('dismissed')
  })
})

describe('svc human', () => {
  it('is hidden from who may not act, and has no answers for an agent', async () => {
    const agent = { SVC_NODE_ID: node, SVC_SCOPES: 'svc:llm' }
    expect((await svc.run(['--help'], { env: agent })).out).not.toContain('human')
    expect((await svc.run(['--help'], { env: { ...agent, SVC_SCOPES: 'svc:llm svc:act' } })).out).toContain('human')
    expect((await svc.run(['human', '--help'], { env: agent })).out).not.toContain('dismiss')
  })

  it.each([
    [['dismiss', id, '--reason', 'no'], 'dismiss', { reason: 'no' }],
    [['cancel', id], 'cancel', {}],
  ])('%j ends it', async (args, verb, body) => {
    wire.says(json(request))
    await svc.run(['human', ...args])
    expect(wire.only).toMatchObject({ method: 'POST', path: `/v1/human/requests/${id}/${verb}`, body })
  })
})

describe('attachments', () => {
  it('go with a message and a report, without the node own token in them', async () => {
    writeFileSync(join(svc.dataDir, 'a.txt'), 'key svc_own_x')
    writeFileSync(join(svc.dataDir, 'b.bin'), Buffer.from([0, 255]))
    const files = ['--attach', 'a.txt', '--attach', 'b.bin']
    wire.says(json({ message_id: 'msg', delivered: 'live' }))
    await svc.run(['node', 'message', node, 'hi', ...files])
    expect(wire.only.body).toEqual({
      body: 'hi',
      attachments: [
        { name: 'a.txt', text: 'key svc_own_x' },
        { name: 'b.bin', base64: 'AP8=' },
      ],
    })
    wire.says(json({ id: 'rep', kind: 'update' }))
    await svc.run(['push', 'hi', '--attach', 'a.txt'], { env: { SVC_NODE_ID: node } })
    expect(wire.only.body).toMatchObject({ attachments: [{ name: 'a.txt', text: "key [the node's token]" }] })
  })

  it('are printed as they are, and never written over a file', async () => {
    wire.says(json({ name: 'b', content_type: 'text/plain', base64: Buffer.from('content').toString('base64') }))
    const args = ['node', 'attachment', node, 'att_01jd0000000000000000000000']
    expect((await svc.run(args)).out).toBe('content')
    wire.says(json({ name: 'b', content_type: 'text/plain', base64: '' }))
    expect((await svc.run([...args, '--output', 'a.txt'])).code).toBe(1)
  })
})
