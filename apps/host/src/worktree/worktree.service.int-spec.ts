import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { pino } from 'pino'
import { settings } from '#common/kernel/config.js'
import { newId } from '#common/kernel/ids.js'
import { type HostPlace, hostPlaceOf } from '../host.place.js'
import { gitIn, groundOfMachine, type TestGround, TestRepository, writeIn } from './repository.fixture.js'
import { WorktreeService } from './worktree.service.js'

let ground: TestGround
let directory: string
let place: HostPlace
let repository: TestRepository
let hosted: { node_id: string }[]
let service: WorktreeService

beforeAll(async () => {
  ground = await groundOfMachine()
})
beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'svc-trees-')))
  place = hostPlaceOf(settings.parse({ SVC_DATA_DIR: directory }), '/none')
  repository = new TestRepository()
  hosted = []
  service = start()
})
afterEach(() => {
  repository.remove()
  rmSync(directory, { recursive: true, force: true })
})

const start = (): WorktreeService =>
  new WorktreeService(place, { hosted: () => hosted as never }, ground, pino({ level: 'silent' }))

interface Order {
  cwd?: string
  branch?: string
  base?: string
}
const look = ({ cwd = repository.root, branch = 'svc/work', base = 'HEAD' }: Order = {}, node_id = newId('node')) =>
  service.inspect({ node_id, cwd, branch, base }).then((found) => ({ ...found, node_id, branch }))

const make = async (order: Order = {}) => {
  const found = await look(order)
  await service.create(found)
  return found
}
type Made = Awaited<ReturnType<typeof make>>

const status = (made: Made) => service.status({ ...made, nodes: [made.node_id], look: true })
const close = (made: Made) => service.remove({ ...made, drop_branch_at: null, opened: true })
const noteOf = (made: Made): string => join(directory, 'worktrees', `.making-${made.node_id}`)
const adminOf = (made: Made): string => join(made.git_dir, 'worktrees', made.node_id)
const refusal = (reason: string) => expect.objectContaining({ code: 'worktree_refused', fields: { reason } })

/** Nothing of it is there: no tree, no directory in the repository, no branch, no note. */
const expectNothing = (made: Made): void => {
  expect([made.path, adminOf(made), noteOf(made)].filter(existsSync)).toEqual([])
  expect(repository.branches()).toEqual(['main'])
}

describe('a look at a directory', () => {
  it('answers where the tree would stand, what it begins at, and touches nothing', async () => {
    const head = repository.git('rev-parse', 'HEAD')
    const found = await look({ cwd: join(repository.root, 'src') })
    expect(found).toMatchObject({
      path: join(directory, 'worktrees', found.node_id),
      base: head,
      repository: repository.root,
      git_dir: repository.gitDir,
      subdir: 'src',
    })
    expectNothing(found)
  })

  it.each([
    ['a directory in no repository', () => ({ cwd: directory }), 'not_a_repository'],
    ['a directory that is not there', () => ({ cwd: '/nowhere' }), 'not_a_repository'],
    ['the git directory itself', () => ({ cwd: repository.gitDir }), 'not_a_repository'],
    ['a base that is not there', () => ({ base: 'v9' }), 'base_not_found'],
    ['a base that is no commit', () => ({ base: 'HEAD:src' }), 'base_not_found'],
    ['a branch that is taken', () => ({ branch: 'main' }), 'branch_exists'],
    ['a branch below one', () => ({ branch: 'main/more' }), 'branch_exists'],
    ['a name that git refuses', () => ({ branch: 'a..b' }), 'branch_invalid'],
    ['the name HEAD', () => ({ branch: 'HEAD' }), 'branch_invalid'],
  ])('refuses %s', async (_what, order, reason) => {
    await expect(look(order())).rejects.toEqual(refusal(reason))
  })

  it('refuses a bare repository, and one without a commit', async () => {
    const bare = join(directory, 'bare.git')
    gitIn(directory, 'init', '-q', '--bare', bare)
    await expect(look({ cwd: bare })).rejects.toEqual(refusal('bare'))
    const empty = join(directory, 'empty')
    gitIn(directory, 'init', '-q', empty)
    await expect(look({ cwd: empty })).rejects.toEqual(refusal('base_not_found'))
  })

  it('says so where there is no git', async () => {
    const path = process.env.PATH
    process.env.PATH = '/nowhere'
    try {
      await expect(look()).rejects.toEqual(refusal('git_missing'))
    } finally {
      process.env.PATH = path
    }
  })
})

describe('create', () => {
  it('makes a branch and a tree that git itself knows, and leaves the checkout of the person as it was', async () => {
    repository.write('src/a.txt', 'changed\n')
    repository.write('new.txt', 'mine\n')
    repository.git('add', 'new.txt')
    const before = repository.mine()
    const made = await make()
    expect(gitIn(made.path, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe('svc/work')
    expect(gitIn(made.path, 'status', '--porcelain')).toBe('')
    expect(readFileSync(join(made.path, 'src/a.txt'), 'utf8')).toBe('one\n')
    expect(repository.git('worktree', 'list')).toContain(made.path)
    expect(repository.mine()).toBe(before)
    expect(existsSync(noteOf(made))).toBe(false)
  })

  it('works with spaces and other letters in names, from a directory below, from a detached HEAD', async () => {
    repository.remove()
    repository = new TestRepository('mein Projekt – größer')
    repository.write('läß mich/b c.txt', 'x\n')
    repository.commit('second')
    repository.git('checkout', '-q', '--detach', 'HEAD')
    const made = await make({ cwd: join(repository.root, 'läß mich'), branch: 'svc/ä' })
    expect(made).toMatchObject({ subdir: 'läß mich', repository: repository.root })
    expect(readFileSync(join(made.path, made.subdir, 'b c.txt'), 'utf8')).toBe('x\n')
    expect((await status(made)).changes).toEqual([])
  })

  it('begins at a tag, at a branch of a remote, and from inside another worktree', async () => {
    const first = repository.git('rev-parse', 'HEAD')
    repository.git('tag', '-a', 'v1', '-m', 'first')
    repository.write('later.txt', 'x\n')
    const later = repository.commit('second')
    repository.git('update-ref', 'refs/remotes/origin/main', first)
    const made = await make({ base: 'v1' })
    expect(made.base).toBe(first)
    expect((await make({ base: 'origin/main', branch: 'b' })).base).toBe(first)
    const inner = await make({ cwd: made.path, branch: 'c' })
    expect(inner).toMatchObject({ base: first, git_dir: repository.gitDir })
    expect((await make({ branch: 'd' })).base).toBe(later)
  })

  it('leaves submodules empty, as git does, and makes a directory that the base lacks', async () => {
    const library = new TestRepository('library')
    repository.git('submodule', 'add', '-q', library.root, 'lib')
    repository.commit('with a submodule')
    mkdirSync(join(repository.root, 'only/here'), { recursive: true })
    const made = await make({ cwd: join(repository.root, 'only/here') })
    expect(existsSync(join(made.path, 'only/here'))).toBe(true)
    expect((await status(made)).changes).toEqual([])
    expect(gitIn(made.path, 'status', '--porcelain')).toBe('')
    library.remove()
  })

  it('is repeated without an effect, also after a commit in the tree', async () => {
    const made = await make()
    gitIn(made.path, 'commit', '-q', '--allow-empty', '-m', 'work')
    const tip = gitIn(made.path, 'rev-parse', 'HEAD')
    service = start()
    await service.create(made)
    expect(repository.git('rev-parse', 'svc/work')).toBe(tip)
  })

  it.each([
    ['nothing but the note', () => undefined],
    ['the branch', (made: Made) => repository.git('update-ref', 'refs/heads/svc/work', made.base)],
    [
      'half a tree, with the locks of a git that was killed',
      (made: Made) => {
        repository.git('worktree', 'add', '-q', '--no-checkout', '-b', 'svc/work', made.path)
        writeIn(made.path, 'src/half.txt', 'ha')
        writeIn(adminOf(made), 'index.lock', '')
      },
    ],
    ['a tree that git does not know', (made: Made) => writeIn(made.path, 'src/half.txt', 'ha')],
  ])('begins again where a kill left %s', async (_what, leave) => {
    const made = await look()
    writeIn(directory, `worktrees/.making-${made.node_id}`, '')
    leave(made)
    await service.create(made)
    expect(gitIn(made.path, 'status', '--porcelain')).toBe('')
    expect(gitIn(made.path, 'ls-files')).toBe('.gitignore\nsrc/a.txt')
    expect(existsSync(noteOf(made))).toBe(false)
  })

  it('takes no branch that somebody made meanwhile, and leaves it alone', async () => {
    const made = await look()
    repository.git('branch', 'svc/work')
    await expect(service.create(made)).rejects.toEqual(refusal('branch_exists'))
    expect(repository.branches()).toEqual(['main', 'svc/work'])
    expect([made.path, adminOf(made), noteOf(made)].filter(existsSync)).toEqual([])
  })

  it('leaves nothing behind when the tree can not be written', async () => {
    const made = await look()
    const blob = repository.git('rev-parse', 'HEAD:src/a.txt')
    rmSync(join(repository.gitDir, 'objects', blob.slice(0, 2), blob.slice(2)), { force: true })
    await expect(service.create(made)).rejects.toEqual(refusal('checkout_failed'))
    expectNothing(made)
  })

  it('refuses a directory that is a link in the base: it would lead the node out of its tree', async () => {
    symlinkSync('/etc', join(repository.root, 'out'))
    repository.commit('a link')
    repository.git('checkout', '-q', '-b', 'other')
    const made = await look()
    await expect(service.create({ ...made, subdir: 'out' })).rejects.toEqual(refusal('checkout_failed'))
    repository.git('checkout', '-q', 'main')
    repository.git('branch', '-q', '-D', 'other')
    expectNothing(made)
  })

  it('makes many of one repository at once', async () => {
    const made = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => make({ branch: `svc/${name}` })))
    expect(repository.branches()).toEqual(['main', 'svc/a', 'svc/b', 'svc/c', 'svc/d', 'svc/e'])
    await Promise.all(made.map(close))
    expect(repository.git('worktree', 'list').split('\n')).toHaveLength(1)
  })
})

describe('what would be lost with a tree', () => {
  it('is named: changed, staged, removed and untracked files, without what is ignored', async () => {
    const made = await make()
    writeIn(made.path, 'src/a.txt', 'two\n')
    writeIn(made.path, 'staged.txt', 'x')
    gitIn(made.path, 'add', 'staged.txt')
    writeIn(made.path, 'größe b.txt', 'x')
    writeIn(made.path, 'ignored.log', 'x')
    rmSync(join(made.path, '.gitignore'))
    writeIn(made.path, '.git-not', 'x')
    const { changes, total } = await status(made)
    expect(total).toBe(6)
    expect(changes).toEqual(
      expect.arrayContaining([
        { path: 'src/a.txt', change: 'modified' },
        { path: 'staged.txt', change: 'added' },
        { path: 'größe b.txt', change: 'untracked' },
        { path: '.gitignore', change: 'deleted' },
      ]),
    )
  })

  it('is nothing after a commit, also where the person ignores files in the repository alone', async () => {
    writeIn(repository.gitDir, 'info/exclude', 'private/\n')
    const made = await make()
    writeIn(made.path, 'src/a.txt', 'two\n')
    writeIn(made.path, 'private/x', '')
    gitIn(made.path, 'commit', '-q', '-am', 'work')
    expect(await status(made)).toEqual({ commit: gitIn(made.path, 'rev-parse', 'HEAD'), changes: [], total: 0 })
  })

  it('is what no branch holds, when the node left its branch', async () => {
    const made = await make()
    gitIn(made.path, 'checkout', '-q', '--detach')
    gitIn(made.path, 'commit', '-q', '--allow-empty', '-m', 'loose')
    const loose = gitIn(made.path, 'rev-parse', 'HEAD')
    expect((await status(made)).changes).toEqual([{ path: loose, change: 'commits' }])
    gitIn(made.path, 'branch', 'held')
    expect((await status(made)).changes).toEqual([])
  })

  it('is what a submodule holds, of which git is not asked', async () => {
    const library = new TestRepository('library')
    repository.git('submodule', 'add', '-q', library.root, 'lib')
    repository.commit('with a submodule')
    const made = await make()
    gitIn(made.path, 'submodule', '-q', 'update', '--init')
    expect((await status(made)).changes).toEqual([{ path: 'lib', change: 'submodule' }])
    const inner = await look({ cwd: join(repository.root, 'lib') })
    expect(inner).toMatchObject({ git_dir: join(repository.gitDir, 'modules/lib'), subdir: '' })
    library.remove()
  })

  it('can not be told from an index that is none: that is a change too', async () => {
    const made = await make()
    writeFileSync(join(adminOf(made), 'index'), 'rubbish')
    expect((await status(made)).changes).toEqual([{ path: '.', change: 'unreadable' }])
    rmSync(join(adminOf(made), 'index'))
    gitIn(directory, 'init', '-q', 'x')
    symlinkSync('/dev/zero', join(adminOf(made), 'index'))
    expect((await status(made)).changes).toEqual([{ path: '.', change: 'unreadable' }])
  })

  it('is bounded in number, and counted', async () => {
    const made = await make()
    for (let at = 0; at < 130; at += 1) writeIn(made.path, `n${at}`, '')
    const { changes, total } = await status(made)
    expect([changes.length, total]).toEqual([100, 130])
  })

  it('is not looked at while a node is hosted there, nor where the branch is checked out elsewhere', async () => {
    const made = await make()
    gitIn(repository.root, 'checkout', '-q', '--ignore-other-worktrees', 'svc/work')
    await expect(status(made)).rejects.toMatchObject({ code: 'worktree_busy' })
    repository.git('checkout', '-q', 'main')
    hosted = [{ node_id: made.node_id }]
    await expect(status(made)).rejects.toMatchObject({ code: 'worktree_busy', fields: { nodes: [made.node_id] } })
  })
})

describe('remove', () => {
  it('keeps the branch with its commits, and the checkout of the person', async () => {
    const before = repository.mine()
    const made = await make()
    writeIn(made.path, 'src/a.txt', 'two\n')
    gitIn(made.path, 'commit', '-q', '-am', 'work')
    const tip = gitIn(made.path, 'rev-parse', 'HEAD')
    await close(made)
    expect([made.path, adminOf(made)].filter(existsSync)).toEqual([])
    expect(repository.git('rev-parse', 'svc/work')).toBe(tip)
    expect(repository.git('worktree', 'list').split('\n')).toHaveLength(1)
    expect(repository.mine()).toBe(before)
    repository.git('checkout', '-q', 'svc/work')
  })

  it('takes the branch too, if it points where it is said; else it answers where', async () => {
    const made = await make()
    gitIn(made.path, 'commit', '-q', '--allow-empty', '-m', 'work')
    const tip = gitIn(made.path, 'rev-parse', 'HEAD')
    const drop = (at: string) => service.remove({ ...made, drop_branch_at: at, opened: true })
    expect(await drop(made.base)).toEqual({ moved_to: tip })
    expect(repository.branches()).toEqual(['main', 'svc/work'])
    expect(await drop(tip)).toEqual({ moved_to: null })
    expect(await drop(tip)).toEqual({ moved_to: null })
    expectNothing(made)
    repository.git('cat-file', '-e', tip)
  })

  it('is repeated from wherever a kill cut it off', async () => {
    for (const leave of [
      (made: Made) => rmSync(join(made.path, 'src'), { recursive: true }),
      (made: Made) => rmSync(made.path, { recursive: true }),
      (made: Made) => {
        rmSync(made.path, { recursive: true })
        repository.git('update-ref', '-d', 'refs/heads/svc/work')
      },
    ]) {
      const made = await make()
      leave(made)
      await service.remove({ ...made, drop_branch_at: made.base, opened: true })
      expectNothing(made)
    }
  })

  it('takes what was begun and never opened, and no branch of somebody else', async () => {
    const made = await make()
    await service.remove({ ...made, drop_branch_at: made.base, opened: false })
    expectNothing(made)
    repository.git('branch', 'svc/work')
    await service.remove({ ...made, drop_branch_at: made.base, opened: false })
    expect(repository.branches()).toEqual(['main', 'svc/work'])
  })

  it('removes directories that may not be written, and passes the lock that a killed git left on the branch', async () => {
    const made = await make()
    writeIn(made.path, 'cache/deep/file', 'x')
    chmodSync(join(made.path, 'cache/deep'), 0o555)
    writeIn(repository.gitDir, 'refs/heads/svc/work.lock', '')
    await service.remove({ ...made, drop_branch_at: made.base, opened: true })
    expectNothing(made)
  })

  it('waits for a host that still has a process of the node', async () => {
    const made = await make()
    hosted = [{ node_id: made.node_id }]
    await expect(close(made)).rejects.toMatchObject({ code: 'worktree_busy' })
    expect(existsSync(made.path)).toBe(true)
  })
})
