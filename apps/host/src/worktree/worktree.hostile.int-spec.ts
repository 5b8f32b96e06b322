import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
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
import { GitCommand } from './git.command.js'
import { GitHold } from './git.hold.js'
import { gitIn, groundOfMachine, type TestGround, TestRepository, writeIn } from './repository.fixture.js'
import { Repositories } from './repository.js'
import { WorktreeService } from './worktree.service.js'

let ground: TestGround
let place: HostPlace
let directory: string
let repository: TestRepository
let service: WorktreeService
/** Written by whatever an agent has planted, when somebody runs it. */
let evidence: string
let bait: string

beforeAll(async () => {
  ground = await groundOfMachine()
})
beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'svc-hostile-')))
  evidence = join(directory, 'evidence')
  bait = join(directory, 'bait.sh')
  writeFileSync(bait, `#!/bin/sh\necho "$0 $*" >> ${evidence}\ncat\n`)
  chmodSync(bait, 0o755)
  place = hostPlaceOf(settings.parse({ SVC_DATA_DIR: join(directory, 'data') }), '/none')
  service = new WorktreeService(place, { hosted: () => [] }, ground, pino({ level: 'silent' }))
  repository = new TestRepository()
  repository.write('.gitattributes', '*.txt filter=evil diff=evil merge=evil ident\n')
  repository.commit('with a filter that nobody has configured')
})
afterEach(() => {
  repository.remove()
  rmSync(directory, { recursive: true, force: true })
})

/** All that git would start, in the settings of a git directory and in its hooks. */
const poison = (gitDir: string): void => {
  const settings = [
    `[core]\n\tfsmonitor = ${bait}\n\thooksPath = ${join(gitDir, 'hooks')}\n\tsshCommand = ${bait}\n\tpager = ${bait}`,
    `\teditor = ${bait}\n\taskPass = ${bait}\n\talternateRefsCommand = ${bait}\n\tgitProxy = ${bait}`,
    `[filter "evil"]\n\tclean = ${bait}\n\tsmudge = ${bait}\n\tprocess = ${bait}\n\trequired = true`,
    `[diff]\n\texternal = ${bait}\n[diff "evil"]\n\tcommand = ${bait}\n\ttextconv = ${bait}`,
    `[merge "evil"]\n\tdriver = ${bait}\n[gpg]\n\tprogram = ${bait}\n[log]\n\tshowSignature = true`,
    `[remote "origin"]\n\turl = ext::${bait}\n\tpromisor = true\n\tuploadpack = ${bait}\n[protocol]\n\tallow = always`,
    `[status]\n\tsubmoduleSummary = true\n[submodule]\n\trecurse = true\n[alias]\n\tstatus = !${bait}\n`,
  ]
  writeFileSync(join(gitDir, 'config'), `${readFileSync(join(gitDir, 'config'), 'utf8')}\n${settings.join('\n')}`)
  for (const hook of ['post-checkout', 'reference-transaction', 'post-index-change', 'pre-auto-gc', 'pre-commit']) {
    writeIn(gitDir, `hooks/${hook}`, `#!/bin/sh\necho ${hook} >> ${evidence}\n`)
    chmodSync(join(gitDir, 'hooks', hook), 0o755)
  }
}

const make = async () => {
  const node_id = newId('node')
  const branch = 'svc/work'
  const found = { ...(await service.inspect({ node_id, cwd: repository.root, branch, base: 'HEAD' })), node_id, branch }
  await service.create(found)
  return found
}
type Made = Awaited<ReturnType<typeof make>>
const status = (made: Made) => service.status({ ...made, nodes: [made.node_id], look: true })
const abandon = (made: Made) => service.remove({ ...made, drop_branch_at: made.base, opened: true })

describe('the host', () => {
  it('would start what an agent planted, if it asked git as people do', async () => {
    const made = await make()
    poison(repository.gitDir)
    writeIn(made.path, 'src/a.txt', 'two\n')
    // the bait speaks no filter's language
    expect(() => gitIn(made.path, 'status')).toThrow('clean filter')
    expect(existsSync(evidence)).toBe(true)
  })

  it('starts nothing of a repository whose settings an agent wrote: neither to make a tree, nor to look, nor to remove', async () => {
    poison(repository.gitDir)
    const made = await make()
    writeIn(made.path, 'src/a.txt', 'two\n')
    expect((await status(made)).changes).toEqual([{ path: 'src/a.txt', change: 'modified' }])
    await abandon(made)
    expect(existsSync(made.path)).toBe(false)
    expect(existsSync(evidence)).toBe(false)
  })

  it('goes by no .git file of a tree: it may name a repository of the agent', async () => {
    const made = await make()
    gitIn(directory, 'init', '-q', join(made.path, 'evil'))
    poison(join(made.path, 'evil/.git'))
    writeFileSync(join(made.path, '.git'), 'gitdir: evil/.git\n')
    expect((await status(made)).changes).toEqual([{ path: 'evil/', change: 'untracked' }])
    await abandon(made)
    expect(existsSync(evidence)).toBe(false)
  })

  it("starts nothing of the tree's own settings, nor of a repository inside the tree", async () => {
    const library = new TestRepository('library')
    repository.git('submodule', 'add', '-q', library.root, 'lib')
    repository.commit('with a submodule')
    repository.git('config', 'extensions.worktreeConfig', 'true')
    const made = await make()
    gitIn(made.path, 'submodule', '-q', 'update', '--init')
    const admin = join(made.git_dir, 'worktrees', made.node_id)
    poison(join(admin, 'modules/lib'))
    writeFileSync(join(admin, 'config.worktree'), `[core]\n\tfsmonitor = ${bait}\n`)
    writeIn(made.path, 'lib/more.txt', 'x')
    gitIn(directory, 'init', '-q', join(made.path, 'inner'))
    poison(join(made.path, 'inner/.git'))
    expect((await status(made)).changes).toEqual([
      { path: 'inner/', change: 'untracked' },
      { path: 'lib', change: 'submodule' },
    ])
    await abandon(made)
    expect(existsSync(evidence)).toBe(false)
    library.remove()
  })

  it('goes by no .git file that names a repository which knows nothing of it', async () => {
    const mine = join(directory, 'mine')
    writeIn(mine, '.git', `gitdir: ${repository.gitDir}\n`)
    const look = (cwd: string) => service.inspect({ node_id: newId('node'), cwd, branch: 'svc/work', base: 'HEAD' })
    const refusal = { code: 'worktree_refused', fields: { reason: 'not_permitted' } }
    await expect(look(mine)).rejects.toMatchObject(refusal)
    rmSync(join(mine, '.git'))
    symlinkSync(repository.gitDir, join(mine, '.git'))
    await expect(look(mine)).rejects.toMatchObject(refusal)
    const linked = join(directory, 'linked')
    repository.git('worktree', 'add', '-q', linked)
    expect(await look(linked)).toMatchObject({ git_dir: repository.gitDir })
    writeFileSync(join(mine, 'copy'), '')
    rmSync(join(mine, '.git'))
    writeFileSync(join(mine, '.git'), readFileSync(join(linked, '.git')))
    await expect(look(mine)).rejects.toMatchObject(refusal)
  })

  it('fetches nothing that a partial clone lacks', async () => {
    const made = { node_id: newId('node'), branch: 'svc/work' }
    const found = await service.inspect({ ...made, cwd: repository.root, base: 'HEAD' })
    const blob = repository.git('rev-parse', 'HEAD:src/a.txt')
    rmSync(join(repository.gitDir, 'objects', blob.slice(0, 2), blob.slice(2)), { force: true })
    repository.git('config', 'core.repositoryformatversion', '1')
    repository.git('config', 'extensions.partialClone', 'origin')
    poison(repository.gitDir)
    await expect(service.create({ ...found, ...made })).rejects.toMatchObject({ code: 'worktree_refused' })
    expect(existsSync(evidence)).toBe(false)
  })

  it('writes no branch through a link in the git directory', async () => {
    const aim = join(directory, 'aim')
    gitIn(directory, 'init', '-q', aim)
    symlinkSync(aim, join(repository.gitDir, 'refs/heads/svc'))
    await expect(make()).rejects.toMatchObject({ code: 'worktree_refused', fields: { reason: 'not_permitted' } })
    expect(existsSync(join(aim, 'work'))).toBe(false)
  })

  it('removes no file beyond the tree, whatever links stand in it', async () => {
    const kept = join(directory, 'kept')
    writeIn(kept, 'file', 'x')
    const made = await make()
    symlinkSync(kept, join(made.path, 'link'))
    symlinkSync(kept, join(made.git_dir, 'worktrees', made.node_id, 'link'))
    await abandon(made)
    expect(existsSync(join(kept, 'file'))).toBe(true)
  })

  it('does not wait for a pipe that stands where git reads', async () => {
    const made = await make()
    const admin = join(made.git_dir, 'worktrees', made.node_id)
    rmSync(join(admin, 'HEAD'))
    rmSync(join(admin, 'index'))
    execFileSync('mkfifo', [join(admin, 'HEAD'), join(admin, 'index')])
    expect((await status(made)).changes).toEqual([{ path: 'HEAD', change: 'unreadable' }])
    await abandon(made)
  })

  // Between the look for links and git's write a program of another node in the repository may put one there.
  it('writes nothing outside of the git directory by a link that came after the look', async () => {
    if (ground.level.bwrap === undefined) return
    const outside = join(directory, 'outside')
    mkdirSync(outside)
    symlinkSync(outside, join(repository.gitDir, 'refs/heads/late'))
    const repositories = new Repositories(new GitCommand(place, new GitHold(ground.level)))
    const making = repositories.makeBranch(repository.gitDir, 'late/x', repository.git('rev-parse', 'HEAD'), 'node')
    await expect(making).rejects.toMatchObject({ code: 'worktree_refused' })
    expect(readdirSync(outside)).toEqual([])
  })

  it('writes nothing where the git directory itself was replaced by a link', async () => {
    if (ground.level.bwrap === undefined) return
    const other = new TestRepository('other')
    renameSync(repository.gitDir, join(repository.root, 'aside'))
    symlinkSync(other.gitDir, repository.gitDir)
    const repositories = new Repositories(new GitCommand(place, new GitHold(ground.level)))
    const making = repositories.makeBranch(repository.gitDir, 'x', other.git('rev-parse', 'HEAD'), 'node')
    await expect(making).rejects.toMatchObject({ code: 'worktree_refused', fields: { reason: 'not_permitted' } })
    expect(other.branches()).toEqual(['main'])
    other.remove()
  })

  it.each([
    [
      'borrows',
      (git: string, other: string) => writeFileSync(join(git, 'objects/info/alternates'), `${other}/objects\n`),
    ],
    [
      'links to',
      (git: string, other: string) => {
        renameSync(join(git, 'objects'), join(git, 'aside'))
        symlinkSync(join(other, 'objects'), join(git, 'objects'))
      },
    ],
  ])('makes no tree of what a repository %s, by a branch that is a link', async (_how, reach) => {
    if (ground.level.bwrap === undefined) return
    const other = new TestRepository('other')
    other.write('secret.txt', 'of another')
    other.commit('secret')
    reach(repository.gitDir, other.gitDir)
    symlinkSync(join(other.gitDir, 'refs/heads/main'), join(repository.gitDir, 'refs/heads/steal'))
    const asked = { node_id: newId('node'), branch: 'svc/work', cwd: repository.root }
    const base = other.git('rev-parse', 'HEAD')
    for (const name of ['steal', base]) {
      await expect(service.inspect({ ...asked, base: name })).rejects.toMatchObject({
        fields: { reason: 'base_not_found' },
      })
    }
    const found = { path: '', repository: repository.root, git_dir: repository.gitDir, subdir: '', base }
    await expect(service.create({ ...asked, ...found })).rejects.toMatchObject({ code: 'worktree_refused' })
    other.remove()
  })
})
