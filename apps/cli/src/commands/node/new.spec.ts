import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { end, events, json } from '../../../../../test/support/wire-server.js'

const id = 'node_01jd0000000000000000000000'
const usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost_usd: 0, context_tokens: 0 }
const node = {
  id,
  name: 'count files',
  status: 'active',
  kind: 'general',
  engine: 'exec',
  created_at: '2026-01-01T00:00:00.000Z',
}
const outcome = {
  node_id: id,
  status: 'done',
  settled: true,
  final_report: { body: 'all is well' },
  error: null,
  usage,
}

describe('svc, by its owner and inside a node', () => {
  let svc: SvcCommand
  let wire: SvcCommand['wire']
  let dataDir: string

  beforeAll(async () => {
    svc = await SvcCommand.start()
    wire = svc.wire
    dataDir = svc.dataDir
  })
  afterAll(() => svc.stop())

  describe('node new', () => {
    it.each<[string[], Record<string, unknown>]>([
      [['fix it'], { prompt: 'fix it' }],
      [
        ['--engine', 'exec', '--', 'ls', '-la', '--json'],
        { prompt: 'Run ls -la --json', engine: 'exec', lifecycle: 'terminal', exec: { argv: ['ls', '-la', '--json'] } },
      ],
      [
        ['look', '--stdin', 'text', '--env', 'A=b=c', '--', 'cat'],
        {
          prompt: 'look',
          engine: 'exec',
          lifecycle: 'terminal',
          exec: { argv: ['cat'], stdin: 'text', env: { A: 'b=c' } },
        },
      ],
      [
        ['x', '--lifecycle', 'resident', '--name', 'n', '--kind', 'k'],
        { prompt: 'x', lifecycle: 'resident', name: 'n', kind: 'k' },
      ],
      [
        ['x', '--strength', 'strong', '--model', 'openai/m'],
        { prompt: 'x', model: { strength: 'strong', override: 'openai/m' } },
      ],
      [['x', '--worktree'], { prompt: 'x', worktree: {} }],
      [['x', '--branch', 'b', '--base', 'v1'], { prompt: 'x', worktree: { branch: 'b', base: 'v1' } }],
      [
        ['x', '--scopes', 'svc:llm, svc:act', '--parent', id],
        { prompt: 'x', scopes: ['svc:llm', 'svc:act'], parent_id: id },
      ],
    ])('sends %j as a body', async (args, body) => {
      wire.says(json(node, 201))
      const { code, out } = await svc.run(['node', 'new', ...args])
      expect(code).toBe(0)
      expect(out).toBe(`${id}\n`)
      expect(wire.only).toMatchObject({
        method: 'POST',
        path: '/v1/nodes',
        headers: { authorization: 'Bearer svc_own_x' },
      })
      expect(wire.only.body).toEqual({ cwd: dataDir, ...body })
    })

    it('reads the prompt from standard input and the schema from a file', async () => {
      writeFileSync(join(dataDir, 'shape.json'), '{"type":"object"}')
      wire.says(json(node, 201))
      await svc.run(['node', 'new', '-', '--result-schema', 'shape.json', '--cwd', 'below', '--json'], {
        input: 'a long task\n',
      })
      expect(wire.only.body).toEqual({
        prompt: 'a long task',
        cwd: join(dataDir, 'below'),
        result_schema: { type: 'object' },
      })
    })

    it('waits and prints the report; a node that died makes it fail', async () => {
      wire.says(json(node, 201), json(outcome))
      const done = await svc.run(['node', 'new', 'x', '--wait'])
      expect(done).toMatchObject({ code: 0, out: 'all is well\n' })
      expect(wire.received[0]?.body).toMatchObject({ lifecycle: 'terminal' })
      wire.says(
        json(node, 201),
        json({ ...outcome, status: 'dead', final_report: null, error: { kind: 'auth', message: 'no key' } }),
      )
      const dead = await svc.run(['node', 'new', 'x', '--wait', '--json'])
      expect(dead.code).toBe(1)
      expect(JSON.parse(dead.out)).toMatchObject({ status: 'dead' })
      expect(dead.err).toContain('no key')
    })

    it('watches: text as it comes once, tools and the report', async () => {
      const delta = (offset: number, piece: string) => ({
        id: `1.1.1.${offset}`,
        event: 'delta',
        data: { type: 'delta', data: { node_id: id, generation: 1, message: 1, channel: 'text', offset, text: piece } },
      })
      const durable = (seq: number, type: string, data: unknown) => ({
        id: String(seq),
        event: type,
        data: { type, subject: id, seq, data },
      })
      const frames = [
        durable(1, 'tool.started', { name: 'bash', input: { command: 'ls' } }),
        delta(0, 'count'),
        {
          id: '1',
          event: 'message.snapshot',
          data: {
            type: 'message.snapshot',
            data: { node_id: id, generation: 1, message: 1, channel: 'text', text: 'counting' },
          },
        },
        delta(8, ' files'),
        durable(2, 'message.completed', { role: 'assistant', content: [{ type: 'text', text: 'counting files' }] }),
        durable(3, 'report.pushed', { kind: 'final', body: '3 files' }),
        durable(4, 'node.done', {}),
        end,
      ]
      wire.says(json(node, 201), events(frames), json({ ...node, status: 'done' }), json(outcome))
      const { code, out } = await svc.run(['node', 'new', 'x', '--watch'])
      expect(code).toBe(0)
      expect(out).toBe('▸ bash ls\ncounting files\nfinal report\n3 files\ndone\n')
      expect(wire.received[1]).toMatchObject({ path: `/v1/nodes/${id}/stream`, headers: { 'last-event-id': '0' } })
    })

    it.each([
      [['node', 'new']],
      [['node', 'new', '--engine', 'exec']],
      [['node', 'new', '--engine', 'loop', '--', 'ls']],
      [['node', 'new', 'x', '--lifecycle', 'eternal']],
      [['node', 'nwe']],
      [['node', 'list', '--limit', 'x']],
    ])('answers 2 to %j and sends nothing', async (args) => {
      wire.says(json(node))
      const { code, err } = await svc.run(args)
      expect(code).toBe(2)
      expect(err).not.toBe('')
      expect(wire.received).toHaveLength(0)
    })
  })

  describe('push', () => {
    const env = { SVC_NODE_ID: id, SVC_TOKEN: 'svc_node_x' }

    it('reports as the node that it runs in', async () => {
      wire.says(json({ id: 'rep_1', kind: 'final' }, 201))
      expect(await svc.run(['push', '--final', '-'], { env, input: 'done\n' })).toMatchObject({
        code: 0,
        out: 'rep_1  final\n',
      })
      expect(wire.only).toMatchObject({
        path: `/v1/nodes/${id}/reports`,
        body: { kind: 'final', body: 'done' },
        headers: { authorization: 'Bearer svc_node_x' },
      })
    })

    it("keeps the node's own token out of the report", async () => {
      wire.says(json({ id: 'rep_1', kind: 'update' }, 201))
      await svc.run(['push', '-'], { env, input: 'SVC_TOKEN=svc_node_x\n' })
      expect(wire.only.body).toEqual({ kind: 'update', body: "SVC_TOKEN=[the node's token]" })
    })

    it('is for nodes alone', async () => {
      expect(await svc.run(['push', 'x'])).toMatchObject({ code: 6, err: expect.stringContaining('inside of a node') })
      expect((await svc.run(['--help'])).out).not.toMatch(/^ {2}push /m)
      expect((await svc.run(['--help'], { env })).out).toMatch(/^ {2}push /m)
    })
  })
})
