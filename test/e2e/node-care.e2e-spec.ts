import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
beforeAll(async () => {
  daemon = await TestDaemon.start()
})
afterAll(() => daemon.stop())

const ok = async (...args: string[]): Promise<string> => {
  const end = await svc(daemon, args)
  expect(end).toMatchObject({ code: 0 })
  return end.stdout
}

/** A program that runs until it is ended. */
const program = async (name: string, parent?: string): Promise<string> => {
  const node = await daemon.client().nodes.create({
    prompt: `Be ${name}`,
    name,
    engine: 'exec',
    exec: { argv: ['sleep', '600'] },
    ...(parent === undefined ? { cwd: daemon.workDir } : { parent_id: parent }),
  })
  return node.id
}

const pidOf = (id: string): Promise<number> =>
  waitFor(async () => (await daemon.client().nodes.retrieve(id)).broker?.pid, { what: `the process of ${id}` })

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('nodes, by the command alone', () => {
  it('a canceled tree ends with its processes, but for the child that another node watches', async () => {
    const root = await program('root')
    const [kept, lost, watcher] = [await program('kept', root), await program('lost', root), await program('watcher')]
    const [rootPid, keptPid, lostPid] = [await pidOf(root), await pidOf(kept), await pidOf(lost)]
    expect(await ok('canvas', 'watch', kept, '--by', watcher, '--passive')).toBe(
      `${watcher}  watches ${kept} (passive)\n`,
    )
    expect(await ok('canvas', 'watches', kept)).toMatch(new RegExp(`watched by +${watcher} +reports and end +passive`))
    const said = await ok('node', 'cancel', root)
    expect(said.trim().split('\n').sort()).toEqual(
      [
        `${root}  canceled`,
        `${lost}  canceled`,
        `${kept}  spared: somebody else watches it, or a node above it`,
      ].sort(),
    )
    await waitFor(() => !isAlive(rootPid) && !isAlive(lostPid), { what: 'the end of the processes' })
    expect(isAlive(keptPid)).toBe(true)
    expect(await ok('canvas', 'unwatch', kept, '--by', watcher)).toBe(`${watcher}  watches ${kept} no more\n`)
    expect(await ok('node', 'cancel', kept)).toBe(`${kept}  canceled\n`)
    expect(await svc(daemon, ['canvas', 'watch', kept, '--by', watcher])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('canceled'),
    })
  })

  it('a node is renamed, promoted and demoted, keeps a roadmap, and is found when it owes work', async () => {
    const id = await program('one')
    expect(await ok('node', 'update', id, '--name', 'uno')).toBe(`${id}  uno: general, base, resident (active)\n`)
    expect(await ok('node', 'promote', id, '--kind', 'plan')).toMatch(/uno: plan, orchestrator, resident/)
    expect(await svc(daemon, ['node', 'promote', id])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('orchestrator'),
    })
    expect(await ok('node', 'roadmap', id)).toContain('## Goal\nBe one')
    await ok('node', 'roadmap', id, '--write', '# Mine', '--if-match', '1')
    expect(await svc(daemon, ['node', 'roadmap', id, '--write', 'x', '--if-match', '1'])).not.toMatchObject({ code: 0 })
    expect(await ok('node', 'roadmap', id)).toBe('# Mine\n')
    expect(await ok('node', 'roadmap', id, '--version', '1')).toContain('Be one')
    expect(await ok('node', 'demote', id)).toMatch(/terminal/)
    const failing = await daemon.client().nodes.createAndWait({
      prompt: 'fail',
      engine: 'exec',
      lifecycle: 'terminal',
      exec: { argv: ['false'] },
      cwd: daemon.workDir,
    })
    expect(failing).toMatchObject({ status: 'dead' })
    expect(await ok('node', 'revive-all', '--under', failing.node_id)).toMatch(new RegExp(`${failing.node_id} +dead`))
    expect(await ok('node', 'revive-all', '--under', failing.node_id, '--confirm')).toContain('revived')
    const again = () => daemon.client().nodes.outcome(failing.node_id)
    await waitFor(async () => (await again()).status === 'dead' && (await again()).engagement === 2)
  })
})
