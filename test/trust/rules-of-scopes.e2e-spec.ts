import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Node } from '#sdk/index.js'
import { rulesOfObjects } from './rules-of-objects.js'
import { TrustStage, type Voice } from './trust.stage.js'

let stage: TrustStage
beforeAll(async () => {
  stage = await TrustStage.start()
  stage.script('report and end', [{ toolCalls: [{ name: 'report', input: { kind: 'final', body: 'over' } }] }])
  stage.mock.always({ text: 'Done.' })
})
afterAll(() => stage.stop())

const acting = ['svc:act', 'svc:llm']
const deck = { kind: 'deck', title: 'Which way?', pages: [{ id: 'p', kind: 'notify', title: 'This way' }] }

/** A node that holds this list, with somebody beneath it to act on. */
interface Holder {
  readonly node: Node
  readonly ask: Voice
}

const holder = async (scopes: string[]): Promise<Holder> => {
  const node = await stage.waiting({ scopes })
  return { node, ask: await stage.asNode(node.id) }
}

const refused = (scope: string) => ({ status: 403, body: { code: 'scope_missing', scope } })

describe('svc:llm gates', () => {
  it('daemon-mediated model calls (POST /v1/llm)', async () => {
    const call = { messages: [{ role: 'user', content: [{ type: 'text', text: 'What is two and two?' }] }] }
    const without = await holder(['svc:schedule', 'svc:memory:rw:user'])
    const before = stage.mock.requests().length

    expect(await without.ask('POST /v1/llm', call)).toMatchObject(refused('svc:llm'))
    expect(stage.mock.requests()).toHaveLength(before)

    const { ask } = await holder(['svc:llm'])
    expect(await ask('POST /v1/llm', call)).toMatchObject({ status: 200, body: { finish_reason: 'stop' } })
  })

  it('not how a node thinks itself, which its turns pay for', async () => {
    expect(await stage.over({ scopes: [] })).toMatchObject({ status: 'done', scopes: [] })
  })
})

describe('svc:act gates', () => {
  type Act = (holder: Holder) => Promise<readonly [call: string, body?: unknown]>
  const beneath = ({ node }: Holder) => ({ parent_id: node.id, cwd: node.cwd })
  const acts: Record<string, Act> = {
    'creating nodes': async ({ node }) => [
      'POST /v1/nodes',
      { prompt: 'wait', cwd: node.cwd, engine: 'exec', exec: { argv: ['cat'] } },
    ],
    'forking nodes': async (maker) => {
      const child = await stage.rested({ ...beneath(maker), lifecycle: 'resident' })
      return [`POST /v1/nodes/${child.id}/fork`, {}]
    },
    'reviving nodes': async (maker) => {
      const child = await stage.over(beneath(maker))
      return [`POST /v1/nodes/${child.id}/revive`, {}]
    },
    'closing nodes': async (maker) => [`POST /v1/nodes/${(await stage.waiting(beneath(maker))).id}/cancel`, {}],
    'messaging nodes': async (maker) => [
      `POST /v1/nodes/${(await stage.waiting(beneath(maker))).id}/message`,
      { body: 'hello' },
    ],
    bash: async ({ node }) => ['POST /v1/bash', { cwd: node.cwd, command: 'touch made' }],
    'reading files': async ({ node }) => {
      writeFileSync(join(node.cwd, 'kept'), 'x')
      return [`GET /v1/files/peek?path=${encodeURIComponent(join(node.cwd, 'kept'))}`]
    },
    'listing files': async ({ node }) => [`GET /v1/files/list?path=${encodeURIComponent(node.cwd)}`],
    'writing files': async ({ node }) => ['POST /v1/files/write', { path: join(node.cwd, 'made'), content: 'x' }],
    'creating a human request': async () => ['POST /v1/human/requests', deck],
  }

  it.each(Object.entries(acts))('%s', async (_what, act) => {
    const without = await holder(['svc:llm', 'svc:schedule'])
    const [call, body] = await act(without)
    expect(await without.ask(call, body)).toMatchObject(refused('svc:act'))
    expect(existsSync(join(without.node.cwd, 'made'))).toBe(false)

    const having = await holder(acting)
    const [same, content] = await act(having)
    const { status } = await having.ask(same, content)
    expect(status).toBeLessThan(300)
  })

  it('the background commands of a node too', async () => {
    const { node, ask } = await holder(['svc:llm'])

    expect(await ask(`POST /v1/nodes/${node.id}/jobs`, { command: 'touch made' })).toMatchObject(refused('svc:act'))
    expect(existsSync(join(node.cwd, 'made'))).toBe(false)
  })

  it('the shell of an agent: without it there is none, and `svc` by itself', async () => {
    await stage.over({ prompt: 'report and end, unarmed', scopes: ['svc:llm'] })
    await stage.over({ prompt: 'report and end, armed', scopes: acting })
    const toolsOf = (prompt: string): string[] => {
      const asked = stage.mock.requests().find(({ body }) => JSON.stringify(body.messages).includes(prompt))
      const tools = (asked?.body.tools ?? []) as { function: { name: string } }[]
      return tools.map(({ function: { name } }) => name)
    }
    expect(toolsOf('end, armed')).toEqual(
      expect.arrayContaining(['bash', 'read', 'write', 'spawn', 'ask_human', 'svc']),
    )
    const unarmed = toolsOf('end, unarmed')
    expect(unarmed).toContain('svc')
    for (const tool of ['bash', 'read', 'write', 'edit', 'spawn', 'message', 'ask_human'])
      expect(unarmed).not.toContain(tool)
  })

  it('the `svc human` commands, which are hidden without it', async () => {
    const help = async (scopes: string[]): Promise<string> => {
      const { node_id } = await stage.client.nodes.createAndWait({
        prompt: 'look',
        cwd: stage.directory(),
        lifecycle: 'terminal',
        engine: 'exec',
        exec: { argv: ['svc', '--help'] },
        scopes,
      })
      return (await stage.client.nodes.outcome(node_id)).final_report?.body ?? ''
    }
    expect(await help(['svc:llm'])).not.toMatch(/^\s+human\b/m)
    expect(await help(acting)).toMatch(/^\s+human\b/m)
  })
})

describe('svc:files', () => {
  /** What a program of a node sees of a directory besides its own. */
  const tries = async (scopes: string[], place: string): Promise<string> => {
    const script = `cat ${place}/note; { echo new > ${place}/new; } 2>/dev/null && echo written || echo not written`
    const outcome = await stage.client.nodes.createAndWait({
      prompt: 'try',
      cwd: stage.directory(),
      lifecycle: 'terminal',
      engine: 'exec',
      exec: { argv: ['sh', '-c', script] },
      scopes: [...acting, ...scopes],
    })
    return outcome.final_report?.body ?? JSON.stringify(outcome)
  }
  const place = (): string => {
    const path = stage.directory()
    writeFileSync(join(path, 'note'), 'a note of the person')
    return path
  }

  it('read:user:<dir> says what a run may mount, to read', async () => {
    const path = place()
    expect(await tries([`svc:files:read:user:${path}`], path)).toMatch(/a note of the person\s*not written/)
    expect(existsSync(join(path, 'new'))).toBe(false)
  })

  it('rw:user:<dir> says what a run may mount, to write', async () => {
    const path = place()
    expect(await tries([`svc:files:rw:user:${path}`], path)).toMatch(/a note of the person\s*written/)
    expect(readFileSync(join(path, 'new'), 'utf8')).toBe('new\n')
  })

  it('is needed for everything of the person’s but the working directory', async () => {
    const path = place()
    expect(await tries([], path)).toMatch(/not written/)
    expect(await tries([], path)).not.toMatch(/a note of the person/)
    expect(await tries([`svc:files:read:user:${path}x`], path)).not.toMatch(/a note of the person/)
    expect(existsSync(join(path, 'new'))).toBe(false)
  })

  it('is what the files routes show to a node’s token, with its working directory', async () => {
    const [read, write] = [place(), place()]
    // not below /tmp: there a node that has started sees a directory of its own
    const other = mkdtempSync('/var/tmp/svc-trust-')
    writeFileSync(join(other, 'note'), 'a note of the person')
    const { node, ask } = await holder([...acting, `svc:files:read:user:${read}`, `svc:files:rw:user:${write}`])
    const peek = (path: string) => ask(`GET /v1/files/peek?path=${encodeURIComponent(join(path, 'note'))}`)
    const put = (path: string) => ask('POST /v1/files/write', { path: join(path, 'put'), content: 'x' })

    expect([(await peek(read)).status, (await peek(write)).status]).toEqual([200, 200])
    expect((await peek(other)).body.code).toBe('path_outside_scope')
    expect([(await put(write)).status, (await put(node.cwd)).status]).toEqual([200, 200])
    expect((await put(read)).status).toBe(403)
    expect((await put(other)).status).toBeGreaterThanOrEqual(400)
    expect([read, other].map((path) => existsSync(join(path, 'put')))).toEqual([false, false])
    rmSync(other, { recursive: true })
  })
})

rulesOfObjects(() => stage)
