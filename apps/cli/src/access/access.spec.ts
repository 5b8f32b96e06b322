import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../test/support/svc-command.js'
import { json, problem, silence } from '../../../../test/support/wire-server.js'

const id = 'node_01jd0000000000000000000000'
const node = (scopes: string) => ({ env: { SVC_NODE_ID: id, SVC_TOKEN: 'svc_node_x', SVC_SCOPES: scopes } })
const app = { env: { SVC_TOKEN: 'svc_app_x' } }
const self = (scopes: string[]) => json({ kind: 'app', scopes })

describe('what svc shows', () => {
  let svc: SvcCommand

  const listed = async (args: readonly string[], given: Parameters<SvcCommand['run']>[1] = {}): Promise<string[]> => {
    const { out, code } = await svc.run([...args, '--help'], given)
    expect(code).toBe(0)
    return [...out.matchAll(/^ {2}([a-z][\w-]*)(?: |$)/gm)]
      .map(([, name]) => name as string)
      .filter((name) => name !== 'svc')
  }

  beforeAll(async () => {
    svc = await SvcCommand.start()
  })
  afterAll(() => svc.stop())

  it('an owner everything, push left out, without asking the daemon', async () => {
    svc.wire.says(problem(500, {}))
    expect(await listed([])).toEqual(expect.arrayContaining(['sys', 'node', 'bash', 'file', 'human', 'cron', 'model']))
    expect(await listed([])).not.toContain('push')
    expect(await listed(['sys'])).toEqual(expect.arrayContaining(['up', 'down', 'connect', 'doctor', 'sandbox']))
    expect(svc.wire.received).toHaveLength(0)
  })

  it('a node without svc:act no commands that act, and tells it of the scope when it tries one', async () => {
    svc.wire.says(problem(500, {}))
    const top = await listed([], node('svc:llm'))
    for (const name of ['human', 'bash', 'file']) expect(top).not.toContain(name)
    const nodes = await listed(['node'], node('svc:llm svc:schedule'))
    for (const name of ['new', 'fork', 'revive', 'message', 'cancel', 'job-start']) expect(nodes).not.toContain(name)
    for (const name of ['list', 'show', 'yield', 'promote', 'result']) expect(nodes).toContain(name)
    for (const args of [['human'], ['human', 'ask'], ['human', 'ask', 'x'], ['human', '--help'], ['help', 'human']]) {
      const { code, err } = await svc.run(args, node('svc:llm'))
      expect([code, err]).toEqual([6, expect.stringMatching(/^error: `svc human.*svc:act \(scope_missing\)/)])
    }
    const { err } = await svc.run(['node', 'fork', id, '--json'], node('svc:llm'))
    expect(JSON.parse(err)).toMatchObject({ code: 'scope_missing', scope: 'svc:act' })
    expect(svc.wire.received).toHaveLength(0)
  })

  it('a node with svc:act the commands that act, and never those of the owner', async () => {
    const top = await listed([], node('svc:act svc:llm'))
    expect(top).toEqual(expect.arrayContaining(['human', 'bash', 'file', 'push']))
    expect(await listed(['human'], node('svc:act svc:llm'))).toEqual(['ask', 'list', 'show', 'cancel', 'help'])
    expect(await listed(['sys'], node('*'))).toEqual(['status', 'version', 'help'])
    for (const args of [
      ['sys', 'connect'],
      ['sys', 'up'],
      ['sys', 'down'],
      ['canvas', 'prune'],
      ['model', 'list'],
    ]) {
      const { code, out, err } = await svc.run(args, node('*'))
      expect([code, out, err]).toEqual([6, '', expect.stringContaining('owner_required')])
    }
  })

  it('a node with svc:schedule its schedules, and everybody the ledger', async () => {
    svc.wire.says(problem(500, {}))
    expect(await listed([], node('svc:act'))).toContain('ledger')
    expect(await listed([], node('svc:act'))).not.toContain('cron')
    expect(await listed([], node('svc:schedule'))).toEqual(expect.arrayContaining(['cron', 'ledger']))
    expect(await listed(['cron'], node('*'))).not.toContain('poke')
    expect(await listed(['cron'])).toContain('poke')
    svc.wire.says(self(['svc:llm']))
    expect(await listed([], app)).not.toContain('cron')
    svc.wire.says(self(['svc:schedule']))
    expect(await listed([], app)).toContain('cron')
  })

  it('the holder of a scoped token what the daemon says that it may now', async () => {
    svc.wire.says(self(['svc:llm']))
    expect(await listed([], app)).not.toContain('human')
    expect(svc.wire.only).toMatchObject({ path: '/v1/token', headers: { authorization: 'Bearer svc_app_x' } })
    svc.wire.says(self(['svc:act', 'svc:llm']))
    expect(await listed([], app)).toContain('human')
    expect(await listed(['human'], app)).not.toContain('answer')
    svc.wire.says(self(['svc:llm']))
    expect((await svc.run(['human'], app)).code).toBe(6)
  })

  it('all that the kind of the token does not exclude, when the daemon is away or slow', async () => {
    for (const reply of [problem(503, { retryable: true }), silence]) {
      svc.wire.says(reply)
      expect(await listed([], app)).toEqual(expect.arrayContaining(['human', 'bash']))
    }
    expect(await listed(['model'], { env: { ...app.env, SVC_BASE_URL: 'http://127.0.0.1:9' } })).toEqual([
      'status',
      'help',
    ])
  })

  it('nothing of it to another address that stands behind a command', async () => {
    svc.wire.says(self([]))
    expect((await svc.run(['model', '--help', '--base-url', svc.wire.url], app)).code).toBe(0)
    expect(svc.wire.received).toHaveLength(0)
  })

  it('no suggestion and no completion of what is hidden', async () => {
    expect((await svc.run(['humann'], node('svc:llm'))).err).not.toContain('Did you mean')
    expect((await svc.run(['humann'], node('svc:act svc:llm'))).err).toContain('Did you mean human?')
    expect((await svc.run(['completion', 'bash'], node('svc:llm'))).out).not.toMatch(/svc (human|bash|sys up)"/)
    expect((await svc.run(['completion', 'bash'])).out).toMatch(/svc human answer"/)
    svc.wire.says(self(['svc:llm']))
    expect((await svc.run(['completion', 'zsh'], app)).out).not.toContain('svc human')
  })

  it('no question of its own asked by a command that is simply run', async () => {
    svc.wire.says(json({ id, name: 'x', status: 'active' }))
    await svc.run(['node', 'show', id, '--json'], app)
    expect(svc.wire.only.path).toBe(`/v1/nodes/${id}`)
  })
})
