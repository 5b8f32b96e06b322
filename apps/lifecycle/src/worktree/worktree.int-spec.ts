import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { pino } from 'pino'
import { contract, type Node, type NodeCreate } from '#common/contract/index.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { settings } from '#common/kernel/config.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, nodeContext, ownerContext } from '../../../../test/support/lifecycle-service.js'
import { hostPlaceOf } from '../../../host/src/host.place.js'
import { gitIn, groundOfMachine, TestRepository, writeIn } from '../../../host/src/worktree/repository.fixture.js'
import { WorktreeService } from '../../../host/src/worktree/worktree.service.js'

type Step = 'inspect' | 'create' | 'status' | 'unlock' | 'remove'

let lifecycle: LifecycleUnderTest
let repository: TestRepository
/** Called before and after git's work; what it throws is answered instead. */
let onGit: (step: Step, when: 'before' | 'after') => Promise<void> | void
let asked: Step[]

const lost = () => new SvcError('service_unavailable', 'the answer was lost', { service: 'host' })

beforeEach(async () => {
  repository = new TestRepository()
  onGit = () => undefined
  asked = []
  lifecycle = await LifecycleUnderTest.start({ hosted: false })
  const place = hostPlaceOf(settings.parse({ SVC_DATA_DIR: lifecycle.dataDir }), '/none')
  // the real one, behind a host that is played in all else
  const git = new WorktreeService(
    place,
    { hosted: () => [...lifecycle.host.brokers.values()] },
    await groundOfMachine(),
    pino({ level: 'silent' }),
  )
  const names = ['inspect', 'create', 'status', 'unlock', 'remove'] as const
  const serve = (step: Step) => async (_ctx: Context, input: unknown) => {
    asked.push(step)
    await onGit(step, 'before')
    const answer = await git[step](input as never)
    await onGit(step, 'after')
    return answer
  }
  lifecycle.host.more = {
    operations: names.map((step) => contract[`host.worktree.${step}`]),
    handlers: Object.fromEntries(names.map((step) => [`host.worktree.${step}`, serve(step)])),
  }
  await lifecycle.host.join()
})
afterEach(async () => {
  onGit = () => undefined
  await lifecycle.stop()
  repository.remove()
})

const create = (more: Partial<NodeCreate> = {}, ctx?: Context): Promise<Node> =>
  lifecycle.create({ cwd: repository.root, worktree: { branch: 'svc/work' }, lifecycle: 'terminal', ...more }, ctx)

const opened = (id: string): Promise<Node> => inState(id, 'open')

const inState = (id: string, state: string): Promise<Node> =>
  waitFor(
    async () => {
      const node = await lifecycle.retrieve(id)
      return node.worktree?.state === state ? node : null
    },
    { what: `the worktree of ${id} to be ${state}` },
  )

/** A node that has worked in its tree and ended. */
const done = async (more: Partial<NodeCreate> = {}): Promise<Node & { path: string }> => {
  const { id } = await create(more)
  const { broker, assignment } = await lifecycle.bound(id)
  await broker.turn(1, assignment.mail)
  await broker.push('final', 'done')
  lifecycle.host.brokers.delete(id)
  const node = await lifecycle.until(id, 'done')
  return { ...node, path: node.worktree?.path ?? '' }
}

const close = (id: string, more: object = {}, ctx?: Context) =>
  lifecycle.call('nodes.worktree.close', { id, ...more }, ctx)
const abandon = (id: string, ctx?: Context) => lifecycle.call('nodes.worktree.abandon', { id }, ctx)
const worktreeEvents = async (id: string) =>
  (await lifecycle.recorded(id))
    .filter(({ type }) => type.startsWith('worktree.'))
    .map(({ type, data }) => ({ type, data }))

describe('a node with a worktree', () => {
  it('is recorded with it, and launched in it once it is there', async () => {
    const head = repository.git('rev-parse', 'HEAD')
    let go = () => undefined as unknown
    const held = new Promise<void>((resolve) => (go = resolve))
    onGit = (step, when) => (step === 'create' && when === 'before' ? held : undefined)
    const node = await create({ cwd: join(repository.root, 'src') })
    const path = join(realpathSync(lifecycle.dataDir), 'worktrees', node.id)
    expect(node).toMatchObject({
      status: 'active',
      cwd: join(path, 'src'),
      worktree: { path, branch: 'svc/work', base: head, repository: repository.root, state: 'creating', commit: null },
    })
    await lifecycle.host.hello()
    await lifecycle.outcome(node.id, 1)
    expect(lifecycle.host.launchesOf(node.id)).toEqual([])
    go()
    await lifecycle.bound(node.id)
    expect(lifecycle.host.launchesOf(node.id)).toMatchObject([{ cwd: join(path, 'src'), git_dir: repository.gitDir }])
    expect(gitIn(path, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe('svc/work')
    expect(await worktreeEvents(node.id)).toEqual([
      { type: 'worktree.opened', data: { path, branch: 'svc/work', base: head } },
    ])
    expect(await lifecycle.call('lifecycle.node.principal', { node_id: node.id })).toMatchObject({
      place: { git_dir: repository.gitDir },
    })
  })

  it('has a branch called after it unless one is named', async () => {
    const { id, worktree } = await create({ name: 'Größe & Maß!', worktree: {} })
    expect(worktree?.branch).toBe(`svc/gro-e-ma-${id.slice(-6)}`)
    await opened(id)
  })

  it.each([
    [{ branch: 'main' }, 'branch_exists'],
    [{ base: 'v9' }, 'base_not_found'],
    [{ branch: 'a..b' }, 'branch_invalid'],
  ])('is refused %j: %s', async (worktree, reason) => {
    expect(await failure(create({ worktree }))).toMatchObject({ code: 'worktree_refused', fields: { reason } })
    expect((await lifecycle.call('nodes.list', { limit: 50 })).data).toEqual([])
  })

  it('is made once for an idempotency key, though its branch is there at the repetition', async () => {
    const ctx = ownerContext({ idempotencyKey: 'k' })
    const first = await create({}, ctx)
    await opened(first.id)
    expect(await create({}, ctx)).toEqual(first)
    expect(repository.branches()).toEqual(['main', 'svc/work'])
  })

  it('of a node reaches only repositories that the node may write', async () => {
    const parent = await lifecycle.create({ cwd: '/tmp/elsewhere' })
    expect(await failure(create({}, nodeContext(parent.id)))).toMatchObject({ code: 'path_outside_scope' })
    const below = await lifecycle.create({ cwd: join(repository.root, 'src') })
    const inside = { cwd: join(repository.root, 'src') }
    expect(await failure(create(inside, nodeContext(below.id)))).toMatchObject({ code: 'path_outside_scope' })
    const mine = await lifecycle.create({ cwd: repository.root })
    const child = await create({}, nodeContext(mine.id))
    expect(child).toMatchObject({ parent_id: mine.id, worktree: { branch: 'svc/work' } })
    await opened(child.id)
  })

  it('gives its directory to its children, and the repository with it, not the record', async () => {
    const parent = await create()
    await lifecycle.bound(parent.id)
    const child = await lifecycle.create({ parent_id: parent.id })
    expect(child).toMatchObject({ cwd: parent.cwd, worktree: null })
    await lifecycle.bound(child.id)
    expect(lifecycle.host.launchesOf(child.id)).toMatchObject([{ git_dir: repository.gitDir }])
  })

  it('can commit again after a process that was killed while git wrote', async () => {
    const node = await done()
    const lock = join(repository.gitDir, 'worktrees', node.id, 'index.lock')
    writeIn(dirname(lock), 'index.lock', '')
    await lifecycle.message(node.id, 'go on')
    await lifecycle.bound(node.id, 2)
    expect(existsSync(lock)).toBe(false)
    gitIn(node.path, 'commit', '-q', '--allow-empty', '-m', 'again')
  })

  it('ends as dead, says why and leaves nothing when the branch was taken meanwhile', async () => {
    onGit = (step, when) => {
      if (step === 'create' && when === 'before' && asked.length === 2) repository.git('branch', 'svc/work')
    }
    const { id } = await create()
    const dead = await lifecycle.until(id, 'dead')
    expect(dead).toMatchObject({ worktree: { state: 'abandoned' }, fault: { kind: 'other' } })
    expect(dead.fault?.message).toContain('There is a branch svc/work already')
    expect(existsSync(dead.worktree?.path ?? '/')).toBe(false)
    expect(await worktreeEvents(id)).toMatchObject([{ type: 'worktree.failed', data: { reason: 'branch_exists' } }])
    expect(lifecycle.host.launchesOf(id)).toEqual([])
    expect(await failure(lifecycle.message(id, 'go on'))).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'abandoned', event: 'message' },
    })
  })

  it('that is canceled before its tree is there leaves neither tree nor branch', async () => {
    let go = () => undefined as unknown
    const held = new Promise<void>((resolve) => (go = resolve))
    onGit = (step, when) => (step === 'create' && when === 'after' ? held : undefined)
    const node = await create()
    await waitFor(() => repository.branches().includes('svc/work'))
    await lifecycle.call('nodes.cancel', { id: node.id })
    go()
    await inState(node.id, 'abandoned')
    expect(repository.branches()).toEqual(['main'])
    expect(existsSync(node.worktree?.path ?? '/')).toBe(false)
  })
})

describe('close', () => {
  it('keeps the branch with its commits and removes the tree', async () => {
    const node = await done()
    writeIn(node.path, 'src/a.txt', 'two\n')
    gitIn(node.path, 'commit', '-q', '-am', 'work')
    const commit = repository.git('rev-parse', 'svc/work')
    expect(await close(node.id)).toMatchObject({ status: 'done', worktree: { state: 'closed', commit } })
    expect(existsSync(node.path)).toBe(false)
    expect(repository.git('rev-parse', 'svc/work')).toBe(commit)
    expect((await worktreeEvents(node.id)).at(-1)).toEqual({
      type: 'worktree.closed',
      data: { branch: 'svc/work', commit },
    })
  })

  it('refuses a tree with changes, naming them, until it is told to lose them', async () => {
    const node = await done()
    writeIn(node.path, 'new.txt', 'x')
    expect(await failure(close(node.id))).toMatchObject({
      code: 'worktree_dirty',
      fields: { changes: [{ path: 'new.txt', change: 'untracked' }], total: 1 },
    })
    expect(existsSync(join(node.path, 'new.txt'))).toBe(true)
    expect(await close(node.id, { force: true })).toMatchObject({ worktree: { state: 'closed' } })
    expect(existsSync(node.path)).toBe(false)
  })

  it('answers a repeated request with the first answer, and another one with illegal_transition', async () => {
    const node = await done()
    const ctx = ownerContext({ idempotencyKey: 'close' })
    const first = await close(node.id, {}, ctx)
    expect(await close(node.id, {}, ctx)).toMatchObject({ id: node.id, worktree: first.worktree })
    for (const again of [close, abandon]) {
      expect(await failure(again(node.id))).toMatchObject({ code: 'illegal_transition', fields: { state: 'closed' } })
    }
    expect(asked.filter((step) => step === 'remove')).toHaveLength(1)
  })

  it('waits for the work to end: of the node, of one below it, of a job', async () => {
    const { id } = await create()
    const { broker, assignment } = await lifecycle.bound(id)
    expect(await failure(close(id))).toMatchObject({ code: 'worktree_busy', fields: { nodes: [id] } })
    const child = await lifecycle.create({ parent_id: id })
    await broker.turn(1, assignment.mail)
    await broker.push('final', 'done')
    await lifecycle.until(id, 'done')
    lifecycle.host.brokers.delete(id)
    expect(await failure(abandon(id))).toMatchObject({ code: 'worktree_busy', fields: { nodes: [child.id] } })
    const job = await lifecycle.call('nodes.jobs.start', { id: child.id, command: 'sleep 9' })
    const inner = await lifecycle.bound(child.id)
    await inner.broker.turn(1, inner.assignment.mail)
    await inner.broker.push('final', 'done')
    await lifecycle.until(child.id, 'done')
    lifecycle.host.brokers.delete(child.id)
    expect(await failure(close(id))).toMatchObject({ code: 'worktree_busy', fields: { jobs: 1 } })
    await lifecycle.host.endJob(job)
    expect(await close(id)).toMatchObject({ worktree: { state: 'closed' } })
  })

  it('is not for the node that works in it, but for its parent', async () => {
    const parent = await lifecycle.create({ cwd: repository.root })
    const child = await create({ parent_id: parent.id })
    const { broker, assignment } = await lifecycle.bound(child.id)
    const refusal = await failure(close(child.id, {}, nodeContext(child.id)))
    expect(refusal).toMatchObject({ code: 'worktree_busy' })
    expect((refusal as Error).message).toContain('report')
    await broker.turn(1, assignment.mail)
    await broker.push('final', 'done')
    await lifecycle.until(child.id, 'done')
    lifecycle.host.brokers.delete(child.id)
    expect(await close(child.id, {}, nodeContext(parent.id))).toMatchObject({ worktree: { state: 'closed' } })
  })

  it('is refused for another node, for a node of somebody else, and where there is no worktree', async () => {
    const node = await done()
    const stranger = await lifecycle.create({ cwd: repository.root })
    expect(await failure(close(node.id, {}, nodeContext(stranger.id)))).toMatchObject({ code: 'not_found' })
    expect(await failure(close(stranger.id))).toMatchObject({ code: 'not_found', fields: { resource: 'worktree' } })
  })

  it('leaves a node that takes no message and no child, and says what to do', async () => {
    const node = await done()
    await close(node.id)
    const refusal = await failure(lifecycle.message(node.id, 'more'))
    expect(refusal).toMatchObject({ code: 'illegal_transition', fields: { state: 'closed', event: 'message' } })
    expect((refusal as Error).message).toContain('svc/work')
    expect(await failure(lifecycle.create({ parent_id: node.id }))).toMatchObject({
      code: 'illegal_transition',
      fields: { event: 'spawn' },
    })
  })

  it('is decided on nothing old: a node that worked while its tree was looked at is looked at again', async () => {
    const node = await done()
    onGit = async (step, when) => {
      if (step !== 'status' || when !== 'after') return
      onGit = () => undefined
      await lifecycle.message(node.id, 'once more')
      const { broker, assignment } = await lifecycle.bound(node.id, 2)
      await broker.turn(2, assignment.mail)
      await broker.push('final', 'done again')
      await lifecycle.until(node.id, 'done')
      lifecycle.host.brokers.delete(node.id)
    }
    expect(await failure(close(node.id))).toMatchObject({ code: 'version_conflict' })
    expect(existsSync(node.path)).toBe(true)
    expect(await close(node.id)).toMatchObject({ worktree: { state: 'closed' } })
  })
})

describe('abandon', () => {
  it('removes tree and branch, and says where the branch pointed', async () => {
    const node = await done()
    writeIn(node.path, 'new.txt', 'x')
    gitIn(node.path, 'add', '.')
    gitIn(node.path, 'commit', '-q', '-m', 'work')
    writeIn(node.path, 'dirty.txt', 'x')
    const commit = repository.git('rev-parse', 'svc/work')
    expect(await abandon(node.id)).toMatchObject({ worktree: { state: 'abandoned', commit } })
    expect(repository.branches()).toEqual(['main'])
    expect(existsSync(node.path)).toBe(false)
    repository.git('branch', 'back', commit)
    expect((await worktreeEvents(node.id)).at(-1)).toEqual({
      type: 'worktree.abandoned',
      data: { branch: 'svc/work', commit },
    })
  })

  it('names what the branch held though somebody moved it meanwhile', async () => {
    const node = await done()
    const moved = repository.git('commit-tree', '-p', 'HEAD', '-m', 'more', 'HEAD^{tree}')
    onGit = (step, when) => {
      if (step !== 'remove' || when !== 'before') return
      onGit = () => undefined
      repository.git('update-ref', 'refs/heads/svc/work', moved)
    }
    expect(await abandon(node.id)).toMatchObject({ worktree: { state: 'abandoned', commit: moved } })
    expect(repository.branches()).toEqual(['main'])
  })
})

describe('a restart', () => {
  it.each(['before', 'after'] as const)(
    '%s git made the tree: it is made once, and the node launched',
    async (when) => {
      onGit = (step, at) => {
        if (step === 'create' && at === when) throw lost()
      }
      const { id } = await create()
      await waitFor(() => asked.includes('create'))
      await lifecycle.stopService()
      onGit = () => undefined
      await lifecycle.another()
      await lifecycle.host.hello()
      await lifecycle.bound(id)
      expect(repository.branches()).toEqual(['main', 'svc/work'])
      expect((await worktreeEvents(id)).map(({ type }) => type)).toEqual(['worktree.opened'])
    },
  )

  it.each([
    ['close', 'before', 'closed', ['main', 'svc/work']],
    ['close', 'after', 'closed', ['main', 'svc/work']],
    ['abandon', 'before', 'abandoned', ['main']],
    ['abandon', 'after', 'abandoned', ['main']],
  ] as const)('in the middle of %s, %s git did it: it is carried to its end', async (what, when, state, branches) => {
    const node = await done()
    const commit = repository.git('rev-parse', 'svc/work')
    onGit = (step, at) => {
      if (step === 'remove' && at === when) throw lost()
    }
    const answer = await (what === 'close' ? close(node.id) : abandon(node.id))
    expect(answer.worktree?.state).toBe(what === 'close' ? 'closing' : 'abandoning')
    await lifecycle.stopService()
    onGit = () => undefined
    await lifecycle.another()
    await lifecycle.host.hello()
    expect(await inState(node.id, state)).toMatchObject({ worktree: { commit } })
    expect(repository.branches()).toEqual(branches)
    expect(existsSync(node.path)).toBe(false)
    expect((await worktreeEvents(node.id)).map(({ type }) => type)).toEqual(['worktree.opened', `worktree.${state}`])
  })

  it('of a host in the middle of a look refuses, and changes nothing', async () => {
    const node = await done()
    onGit = (step) => {
      if (step === 'status') throw lost()
    }
    expect(await failure(close(node.id))).toMatchObject({ code: 'service_unavailable' })
    expect((await lifecycle.retrieve(node.id)).worktree?.state).toBe('open')
  })
})
