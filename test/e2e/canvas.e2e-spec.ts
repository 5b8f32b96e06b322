import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
beforeAll(async () => {
  daemon = await TestDaemon.start()
})
afterAll(() => daemon.stop())

const json = async <T>(args: string[]): Promise<T> => {
  const end = await svc(daemon, [...args, '--json'])
  expect(end).toMatchObject({ code: 0 })
  return JSON.parse(end.stdout) as T
}

describe('a canvas', () => {
  it('is made with a profile, drawn, searched, counted and cleared, by the command alone', async () => {
    const client = daemon.client()
    await client.profiles.ensure('lister', {
      display_name: 'Lister',
      defaults: {
        engine: 'exec',
        lifecycle: 'terminal',
        cwd: daemon.workDir,
        exec: { argv: ['echo', 'found a capybara in the yard'] },
      },
    })
    const made = await client.nodes.create({ prompt: 'Count the llamas', name: 'counter', env_profile: 'lister' })
    expect(made).toMatchObject({ env_profile: 'lister', engine: 'exec', lifecycle: 'terminal' })
    expect(await client.nodes.waitForOutcome(made.id)).toMatchObject({ status: 'done' })
    const below = { parent_id: made.id, name: 'helper', env_profile: 'lister', exec: { argv: ['echo', 'helped'] } }
    expect(await client.nodes.createAndWait({ prompt: 'Help', ...below })).toMatchObject({ status: 'done' })

    const tree = await svc(daemon, ['canvas', 'tree', made.id])
    expect(tree.stdout).toMatch(/^✓ counter .*\n└─ ✓ helper /)
    const roster = await svc(daemon, ['canvas', 'roster'])
    expect(roster.stdout).toMatch(/STATUS.*\n(.*\n)*.*done.*counter/)
    expect(await json<{ totals: object }>(['canvas', 'snapshot', '--under', made.id])).toMatchObject({
      nodes: [{ name: 'helper' }, { name: 'counter', children: 1 }],
      totals: { nodes: 2, by_status: { done: 2 } },
    })
    expect(await svc(daemon, ['canvas', 'attention'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('nothing needs you'),
    })

    const hit = await waitFor(async () => {
      const { stdout } = await svc(daemon, ['canvas', 'search', 'capybaras', '--under', made.id])
      return stdout.includes('capybara') ? stdout : null
    })
    expect(hit).toContain(`counter (${made.id})`)
    const lines = await svc(daemon, ['canvas', 'grep', 'llamas?$', '--node', made.id])
    expect(lines.stdout).toMatch(/1: Count the llamas/)
    const read = await svc(daemon, ['canvas', 'read', made.id])
    expect(read.stdout).toMatch(/^turn 1\n(.*\n)*.*found a capybara/)
    const stats = await json<{ total: { nodes: number; turns: number } }>([
      'canvas',
      'stats',
      '--by',
      'kind',
      '--under',
      made.id,
    ])
    expect(stats.total).toMatchObject({ nodes: 2, turns: 2 })

    const preview = await svc(daemon, ['canvas', 'prune', '--older-than', '0'])
    expect(preview.stdout).toMatch(/would delete +2 nodes/)
    expect((await client.nodes.retrieve(made.id)).status).toBe('done')
    const pruned = await svc(daemon, ['canvas', 'prune', '--older-than', 'PT0S', '--delete'])
    expect(pruned.stdout).toMatch(/deleted +2 nodes/)
    await expect(client.nodes.retrieve(made.id)).rejects.toMatchObject({ code: 'not_found' })
    expect((await client.canvas.history.search({ query: 'capybara' })).hits).toEqual([])
    expect((await client.canvas.history.stats({})).total.turns).toBeGreaterThanOrEqual(2)
  })

  it('lets nobody but the owner prune it or change a profile, and shows an agent its own part', async () => {
    const client = daemon.client()
    const calls = [
      'svc canvas prune',
      "svc request POST /v1/canvas/prune '{}'",
      "svc request PUT /v1/profiles/x '{}'",
      'svc canvas snapshot --json',
    ]
    const node = await client.nodes.create({
      prompt: 'go',
      cwd: daemon.workDir,
      engine: 'exec',
      lifecycle: 'terminal',
      exec: { argv: ['sh', '-c', `(${calls.join('; ')}) 2>&1; exit 0`] },
    })
    const said = (await client.nodes.waitForOutcome(node.id)).final_report?.body ?? ''
    expect(said).toContain('`svc canvas prune` is for the owner of the daemon (owner_required)')
    expect(said.match(/owner_required/g)).toHaveLength(3)
    expect(JSON.parse(said.slice(said.lastIndexOf('\n{')))).toMatchObject({ nodes: [{ id: node.id }], edges: [] })
  })

  it('is composed with the state of the daemon by the client', async () => {
    expect(await daemon.client().canvas.dashboard({ limit: 1 })).toMatchObject({
      nodes: { data: [{}] },
      status: { ready: true },
    })
  })
})
