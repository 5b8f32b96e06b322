import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json } from '../../../../../test/support/wire-server.js'

const id = 'node_01jd0000000000000000000000'
const other = 'node_01jd0000000000000000000001'

let svc: SvcCommand
let wire: SvcCommand['wire']
beforeAll(async () => {
  svc = await SvcCommand.start()
  wire = svc.wire
})
afterAll(() => svc.stop())

describe('svc node yield', () => {
  it.each([
    [['yield', id, 'mind the gap'], {}],
    [['yield', 'mind the gap'], { SVC_NODE_ID: id }],
  ])('%j asks for a fresh context', async (args, env) => {
    wire.says(json({ id, status: 'active', intent: 'refresh' }))
    const { code, out } = await svc.run(['node', ...args], { env })
    expect([code, out]).toEqual([0, `${id}  a fresh context begins when its turn ends\n`])
    expect(wire.only).toMatchObject({ method: 'POST', path: `/v1/nodes/${id}/yield`, body: { note: 'mind the gap' } })
  })

  it('needs a node', async () => {
    const { code, err } = await svc.run(['node', 'yield', 'mind the gap'])
    expect(code).toBe(2)
    expect(err).toContain('the node is missing')
  })
})

describe('svc node revive', () => {
  it('says what stays canceled', async () => {
    wire.says(json({ node: { id, context: 3 }, revived: true, left_canceled: [other] }))
    const { code, out, err } = await svc.run(['node', 'revive', id, 'the rest', '--fresh'])
    expect([code, out]).toEqual([0, `${id}  starts again, context 3\n`])
    expect(err).toContain(other)
    expect(wire.only).toMatchObject({
      path: `/v1/nodes/${id}/revive`,
      body: { mode: 'fresh', prompt: 'the rest' },
    })
  })
})

describe('svc node fork', () => {
  it('prints the copy', async () => {
    wire.says(json({ id: other, status: 'idle', forked_from: { node_id: id, turn: 3 } }, 201))
    const { code, out, err } = await svc.run([
      'node',
      'fork',
      id,
      '--turn',
      '3',
      '--name',
      'twin',
      '--strength',
      'light',
    ])
    expect([code, out]).toEqual([0, `${other}\n`])
    expect(err).toContain(`a copy of ${id} after its turn 3, idle`)
    expect(wire.only).toMatchObject({
      path: `/v1/nodes/${id}/fork`,
      body: { turn: 3, name: 'twin', model: { strength: 'light' } },
    })
  })
})

describe('svc node recycle and relaunch', () => {
  it.each([
    ['recycle', 'recycle', { recycled: id }],
    ['relaunch', 'relaunch-root', { relaunches: id }],
  ])('%s prints the new root', async (operation, path, answer) => {
    wire.says(json({ node: { id: other }, ...answer }))
    const { code, out } = await svc.run(['node', operation, id, 'be quick'])
    expect([code, out]).toEqual([0, `${other}\n`])
    expect(wire.only).toMatchObject({ path: `/v1/nodes/${id}/${path}`, body: { prompt: 'be quick' } })
  })

  it('without an id are about the node that they run in', async () => {
    wire.says(json({ node: { id: other }, recycled: id }))
    await svc.run(['node', 'recycle'], { env: { SVC_NODE_ID: id } })
    expect(wire.only).toMatchObject({ path: `/v1/nodes/${id}/recycle` })
  })
})
