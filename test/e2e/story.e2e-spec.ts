import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { MockModel } from '#common/testing/mock-model.js'
import { waitFor } from '#common/testing/wait-for.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'
import { Follower } from '../support/follower.js'
import { firstRoadmap, mandate, newWork, nextRoadmap, successor, tellGarden } from '../support/garden.js'

const patience = { timeout: 60_000 }

let daemon: TestDaemon
let mock: MockModel
let repository: string
/** Two who look on from the first moment: one at everything, one at the tree. */
let feed: Follower
let viewer: Follower
let root: string
let heir: string

beforeAll(async () => {
  ;[daemon, mock] = await Promise.all([TestDaemon.start(), MockModel.start()])
  repository = join(daemon.workDir, 'garden')
  mkdirSync(repository)
  for (const args of [
    ['init', '-q'],
    ['commit', '-q', '--allow-empty', '-m', 'begin'],
  ])
    git(...args)
  tellGarden(mock)
  const providers = { mock: { type: 'openai-compatible', base_url: mock.baseUrl('openai-compatible') } }
  await says('model', 'config', JSON.stringify({ providers, ladders: { medium: ['mock/m-1'] } }))
})
afterAll(async () => {
  for (const follower of [feed, viewer]) follower?.leave()
  await Promise.all([daemon.stop(), mock.stop()])
})

const git = (...args: string[]): string =>
  execFileSync('git', ['-C', repository, '-c', 'user.name=ada', '-c', 'user.email=ada@example.org', ...args], {
    encoding: 'utf8',
  })

/** What a command prints that succeeds. */
const says = async (...args: string[]): Promise<string> => {
  const end = await svc(daemon, args)
  expect(end).toMatchObject({ code: 0 })
  return end.stdout.trim()
}

/** Until the command prints it. */
const until = (wanted: RegExp, ...args: string[]): Promise<RegExpExecArray> =>
  waitFor(async () => wanted.exec(await says(...args)), { ...patience, what: `${wanted} in svc ${args.join(' ')}` })

/** The id of a node, from the line that the tree has of it. */
const inTree = async (name: string, top: string, status = '\\w+'): Promise<string> =>
  (await until(new RegExp(`${name} \\w+ +${status} .*(node_\\w+)$`, 'm'), 'canvas', 'tree', top))[1] as string

const show = (id: string): Promise<string> => says('node', 'show', id)

describe('a garden, by the command alone', () => {
  it('is begun by a root with three children in worktrees, that makes itself an orchestrator and waits', async () => {
    feed = new Follower(daemon, ['feed', '--json', '--since', '1h'])
    root = await says('node', 'new', mandate, '--name', 'garden', '--cwd', repository)
    viewer = new Follower(daemon, ['node', 'watch', root, '--tree'])
    await until(/^status +idle.*\nwaiting +for three pieces/m, 'node', 'show', root)
    expect(await show(root)).toMatch(/^kind +general, orchestrator, resident$/m)
    expect(`${await says('node', 'roadmap', root)}\n`).toBe(firstRoadmap)
    for (const name of ['beds', 'pond', 'path']) {
      expect(await show(await inTree(name, root))).toMatch(new RegExp(`^worktree +open: svc/${name}-`, 'm'))
    }
    await inTree('beds', root, 'done')
    await inTree('pond', root, 'idle')
  })

  it('has a child that asks, which is seen, refused a wrong answer, and answered', async () => {
    const [, request] = await until(/svc human answer (req_\w+)/, 'canvas', 'attention')
    expect(await says('canvas', 'tree', root)).toMatch(/path general +idle .*! needs you/)
    expect(await says('human', 'show', String(request))).toContain('1. gravel')
    expect(await svc(daemon, ['human', 'answer', String(request), '--choose', 'wood'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/what to do: page q1 has gravel \(o1\), stone \(o2\)/),
    })
    expect(await says('human', 'answer', String(request), '--choose', 'gravel')).toContain('→ gravel')
    await inTree('path', root, 'done')
    expect(await says('human', 'list')).not.toContain(String(request))
  })

  it('is yielded by its root, which comes back fresh and knows its goal, its roadmap and its note', async () => {
    await until(/^assistant.*\nFresh, and I know my goal, my roadmap and my note\.$/m, 'canvas', 'read', root)
    expect(await show(root)).toMatch(/context 2,/)
    expect(`${await says('node', 'roadmap', root)}\n`).toBe(nextRoadmap)
    for (const name of ['beds', 'pond', 'path']) {
      expect(git('log', '--format=%s', await branchOf(name))).toContain(`the ${name}`)
    }
  })

  const branchOf = async (name: string): Promise<string> =>
    /worktree +open: ([^ ,]+)/.exec(await show(await inTree(name, root)))?.[1] as string

  it('is forked as it was at an earlier turn, and the copy knows nothing later', async () => {
    for (const question of ['Where do the roses go?', 'And the frogs?']) {
      await says('node', 'message', root, question)
      await says('node', 'wait', root)
    }
    const talk = await says('canvas', 'read', root)
    const turn = /turn (\d+)\n(?:(?!turn \d).*\n)*?Where do the roses go\?/.exec(talk)?.[1] as string
    expect(await svc(daemon, ['node', 'fork', root, '--turn', '1'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('turn 1 has not ended, or belongs to a context that was closed'),
    })
    const copy = await says('node', 'fork', root, 'What do you know?', '--turn', turn, '--name', 'lilies')
    expect(await says('node', 'wait', copy)).toBe(`${copy}  idle`)
    expect(await show(copy)).toMatch(new RegExp(`^copy of +${root} after its turn ${turn}$`, 'm'))
    expect(await says('canvas', 'read', copy)).toContain('\nI know of roses.\n')
  })

  it('has a child promoted, with a roadmap that was written for it', async () => {
    const pond = await inTree('pond', root)
    expect(await says('node', 'promote', pond, '--kind', 'plan', '--roadmap', '# Pond')).toMatch(
      /pond: plan, orchestrator, resident/,
    )
    expect(await says('node', 'roadmap', pond)).toBe('# Pond')
    expect(await svc(daemon, ['node', 'promote', pond])).toMatchObject({ code: 4 })
    expect(await svc(daemon, ['node', 'recycle', pond])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('Only a root takes recycle'),
    })
  })

  it('is recycled: a new root takes the place of the old one, with its children, and ends', async () => {
    heir = await says('node', 'recycle', root, successor)
    expect(await viewer.ends()).toBe(0)
    expect(await says('node', 'outcome', root)).toContain(`${heir} goes on in its place`)
    expect(await says('node', 'outcome', heir, '--wait')).toContain('The garden stands: beds, pond, path.')
    expect(await show(heir)).toMatch(new RegExp(`^succeeds +${root} \\(taken over\\)$`, 'm'))
    expect(await inTree('pond', heir)).toBe(await inTree('pond', heir, 'idle'))
    expect(await says('canvas', 'watches', heir)).toContain(await inTree('pond', heir))
  })

  it('was seen by who watched the tree, from the first word to the last', async () => {
    const inOrder = [
      'Three pieces, each in a worktree of its own.',
      'promoted',
      'asks: Gravel or stone?',
      'the path is of gravel',
      'yielded',
      'Fresh, and I know my goal, my roadmap and my note.',
      'The roses go into the beds.',
      'The frogs go into the pond.',
      'forked',
      `${heir} goes on in its place`,
    ]
    const places = inOrder.map((text) => viewer.text.indexOf(text))
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(places).not.toContain(-1)
    for (const name of ['beds', 'pond', 'path']) expect(viewer.text).toMatch(new RegExp(`worktree on svc/${name}-`))
  })

  it('is revived with new work, and canceled but for the child that another node watches', async () => {
    viewer = new Follower(daemon, ['canvas', 'tree', heir, '--watch'])
    expect(await says('node', 'revive', heir, newWork)).toMatch(/starts again/)
    const [hedge, gate] = [await inTree('hedge', heir, 'active'), await inTree('gate', heir, 'active')]
    const neighbour = await says('node', 'new', 'Mind the gate.', '--name', 'neighbour', '--cwd', repository)
    await says('canvas', 'watch', gate, '--by', neighbour)
    const said = await says('node', 'cancel', heir)
    expect(said).toContain(`${heir}  canceled`)
    expect(said).toContain(`${hedge}  canceled`)
    expect(said).toContain(`${gate}  spared: somebody else watches it`)
    await viewer.shows(/⊘ garden/)
    expect(await inTree('gate', heir, 'active')).toBe(gate)
    expect(await svc(daemon, ['node', 'cancel', heir])).toMatchObject({ code: 4 })
    await says('node', 'cancel', gate)
    await until(/gate \(node_\w+\) was canceled/, 'canvas', 'read', neighbour)
    await says('node', 'wait', neighbour)
  })

  it('was seen by who looked at all nodes: every event once, in the order of each node', async () => {
    const rows = await daemon.rows<{ id: string }>('SELECT id FROM canvas.events ORDER BY xid, root_id, tree_seq')
    const last = rows.at(-1)?.id as string
    await waitFor(() => feed.text.includes(last), { ...patience, what: 'the last that was written' })
    const seen = feed.records<{ id: string; subject: string; seq: number }>()
    expect(seen.map(({ id }) => id)).toEqual(rows.map(({ id }) => id))
    const numbers = new Map<string, number>()
    for (const { subject, seq } of seen) {
      expect(seq).toBe((numbers.get(subject) ?? 0) + 1)
      numbers.set(subject, seq)
    }
  })
})
