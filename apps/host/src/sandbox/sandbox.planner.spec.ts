import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { systemClock } from '#common/kernel/clock.js'
import { newId } from '#common/kernel/ids.js'
import type { HostPlace } from '../host.place.js'
import { NodeDirectoryStore } from './node.directories.js'
import type { SandboxGround } from './sandbox.ground.js'
import { type Maker, SandboxPlanner } from './sandbox.planner.js'

describe('the plan of a sandbox', () => {
  let root: string
  let data: string
  let home: string
  let ground: SandboxGround
  let planner: SandboxPlanner
  const nodeId = newId('node')

  const at = (...parts: string[]): string => join(root, ...parts)
  const directory = (...parts: string[]): string => {
    mkdirSync(at(...parts), { recursive: true })
    return at(...parts)
  }
  const repository = (path: string): string => {
    for (const name of ['objects', 'refs', 'hooks']) mkdirSync(join(path, name), { recursive: true })
    writeFileSync(join(path, 'HEAD'), 'ref: refs/heads/main\n')
    writeFileSync(join(path, 'config'), '')
    return path
  }
  const plan = (cwd: string, scopes: string[] = [], gitDir?: string) => planner.planFor({ nodeId, cwd, scopes, gitDir })

  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-planner-')))
    data = directory('home/person/.local/share/svc')
    home = at('home/person')
    const place = {
      data: { path: data },
      sandbox: { secretFiles: [at('keys/token.key')], limits: { processes: 10, memoryBytes: 1 } },
    } as unknown as HostPlace
    ground = {
      level: { level: 'bubblewrap', detail: 'here', bwrap: '/usr/bin/bwrap', nestingRefused: true },
      view: { shown: ['/usr', '/etc'], masked: ['/etc/shadow'] },
      directories: new NodeDirectoryStore(join(data, 'nodes'), systemClock),
      home,
      installation: [],
      gitConfig: '[user]\n',
      env: { PATH: '/usr/bin' },
    }
    planner = new SandboxPlanner(place, ground)
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  it('gives a node directories of its own, and stands its home where the person has theirs', async () => {
    const made = await plan(directory('work'))
    expect(made).toMatchObject({
      level: 'bubblewrap',
      bwrap: '/usr/bin/bwrap',
      home: join(data, 'nodes', nodeId, 'home'),
      homeAt: home,
      temporary: join(data, 'nodes', nodeId, 'tmp'),
      mounts: [{ path: at('work'), mode: 'write' }],
      hidden: ['/etc/shadow'],
      env: { PATH: '/usr/bin' },
    })
    expect(readFileSync(join(made.home, '.gitconfig'), 'utf8')).toBe('[user]\n')
    expect(existsSync(planner.scratchOf(nodeId))).toBe(true)
  })

  it('leaves a ~/.gitconfig that the node wrote', async () => {
    const { home: own } = await plan(directory('work'))
    writeFileSync(join(own, '.gitconfig'), 'mine')
    await plan(directory('work'), ['svc:llm'])
    expect(readFileSync(join(own, '.gitconfig'), 'utf8')).toBe('mine')
  })

  it('plans with where a working directory really is, and keeps the name by which it was given', async () => {
    directory('real/work')
    symlinkSync(at('real'), at('named'))
    symlinkSync(at('real/work'), join(home, 'project'))
    expect((await plan(at('named/work'))).mounts[0]).toEqual({ path: at('real/work'), mode: 'write' })
    const inHome = await plan(join(home, 'project'))
    expect(inHome.mounts[0]?.path).toBe(at('real/work'))
    expect(readlinkSync(join(inHome.home, 'project'))).toBe(at('real/work'))
  })

  it('plans for a working directory that is missing: whoever starts a program there is told', async () => {
    expect((await plan(at('missing'))).mounts).toEqual([{ path: at('missing'), mode: 'write' }])
  })

  describe('mounts', () => {
    it('are the directories that scopes name and that exist, for reading or for writing', async () => {
      const scopes = [
        `svc:files:read:user:${directory('photos')}`,
        `svc:files:rw:user:${directory('notes')}`,
        `svc:files:rw:user:${at('nowhere')}`,
        `svc:files:read:app:other:${directory('theirs')}`,
        'svc:llm',
        'tools:everything',
      ]
      expect((await plan(directory('work'), scopes)).mounts).toEqual([
        { path: at('work'), mode: 'write' },
        { path: at('photos'), mode: 'read' },
        { path: at('notes'), mode: 'write' },
      ])
    })

    it('never take the working directory back, nor anything for writing', async () => {
      const work = directory('work/project')
      directory('work/project/docs')
      const scopes = [
        `svc:files:read:user:${work}`,
        `svc:files:read:user:${join(work, 'docs')}`,
        `svc:files:read:user:${at('work')}`,
      ]
      expect((await plan(work, scopes)).mounts).toEqual([
        { path: work, mode: 'write' },
        { path: at('work'), mode: 'read' },
      ])
    })

    it('never are the data directory, also by a link that leads there', async () => {
      symlinkSync(data, at('friendly'))
      const scopes = [`svc:files:read:user:${data}`, `svc:files:rw:user:${at('friendly')}`, 'svc:files:read:user:/proc']
      expect((await plan(directory('work'), scopes)).mounts).toHaveLength(1)
    })
  })

  describe('a working directory', () => {
    it.each(['/proc', '/proc/self', '/sys/kernel', '/dev', '/run/user'])('can not be %s', async (cwd) => {
      await expect(plan(cwd)).rejects.toMatchObject({ code: 'path_outside_scope' })
    })

    it('can not lie in the data directory, also by a link', async () => {
      symlinkSync(join(data, 'nodes'), at('harmless'))
      directory('home/person/.local/share/svc/nodes')
      for (const cwd of [data, join(data, 'run'), at('harmless')]) {
        await expect(plan(cwd)).rejects.toMatchObject({ code: 'path_outside_scope' })
      }
    })

    it("can be the node's own worktree in the data directory, and no other node's", async () => {
      const own = directory('home/person/.local/share/svc/worktrees', nodeId)
      expect((await plan(own)).mounts[0]?.path).toBe(own)
      const other = directory('home/person/.local/share/svc/worktrees', newId('node'))
      await expect(plan(other)).rejects.toMatchObject({ code: 'path_outside_scope' })
    })

    it('that shows the home shows neither the data directory nor credentials, and lets nothing start at the next login', async () => {
      directory('home/person/.ssh')
      writeFileSync(join(home, '.netrc'), '')
      writeFileSync(join(home, '.bashrc'), '')
      for (const cwd of [home, at('home'), root]) {
        const made = await plan(cwd)
        expect(made.hidden).toEqual(expect.arrayContaining([data, join(home, '.ssh'), join(home, '.netrc')]))
        expect(made.hidden).not.toContain(join(home, '.aws'))
        expect(made.frozen).toEqual([join(home, '.bashrc')])
        expect(made.homeAt).toBe(made.home)
      }
    })

    it('that shows credentials which a scope names opens those alone', async () => {
      directory('home/person/.aws')
      const made = await plan(home, [`svc:files:read:user:${directory('home/person/.ssh')}`])
      expect(made.hidden).not.toContain(join(home, '.ssh'))
      expect(made.hidden).toContain(join(home, '.aws'))
    })

    it('that shows a secret file of the daemon hides it', async () => {
      directory('keys')
      writeFileSync(at('keys/token.key'), '')
      expect((await plan(at('keys'))).hidden).toContain(at('keys/token.key'))
    })
  })

  describe('links', () => {
    it('that a node puts in the place of its directories later lead it nowhere', async () => {
      const work = directory('work')
      const scopes = [`svc:files:read:user:${directory('work/docs')}`]
      directory('secret')
      await plan(work, scopes)
      rmSync(at('work/docs'), { recursive: true })
      symlinkSync(at('secret'), at('work/docs'))
      await expect(plan(work, [...scopes, 'svc:llm'])).rejects.toMatchObject({
        code: 'path_outside_scope',
        fields: { path: at('work/docs') },
      })
      rmSync(work, { recursive: true })
      symlinkSync(at('secret'), work)
      await expect(plan(work, ['svc:llm'])).rejects.toMatchObject({ code: 'path_outside_scope' })
    })

    it('of a node that makes another lead that one nowhere that its maker does not see', async () => {
      const maker = {
        node_id: newId('node'),
        cwd: directory('work'),
        scopes: [`svc:files:read:user:${directory('docs')}`],
      }
      directory('work/inside')
      symlinkSync(directory('secret'), at('work/link'))
      const made = (cwd: string, scopes: string[] = []) =>
        planner.planFor({ nodeId: newId('node'), cwd, scopes, makers: [maker] })
      await made(at('work/inside'), [`svc:files:read:user:${at('docs')}`])
      await expect(made(at('work/link'))).rejects.toMatchObject({ code: 'path_outside_scope' })
      await expect(made(at('work'), [`svc:files:read:user:${at('work/link')}`])).rejects.toMatchObject({
        code: 'path_outside_scope',
      })
      await expect(made(at('docs'))).rejects.toMatchObject({ code: 'path_outside_scope' })
    })

    it('of an application lead its nodes nowhere that it may not write itself', async () => {
      const app = { node_id: null, cwd: null, scopes: [`svc:files:rw:user:${directory('apps')}`] }
      directory('apps/inside')
      symlinkSync(directory('secret'), at('apps/link'))
      const made = (cwd: string, makers: readonly Maker[] = [app]) =>
        planner.planFor({ nodeId: newId('node'), cwd, scopes: [], makers })
      await made(at('apps/inside'))
      const outside = { code: 'path_outside_scope' }
      await expect(made(at('apps/link'))).rejects.toMatchObject(outside)
      await expect(made(at('secret'))).rejects.toMatchObject(outside)
      await expect(made(at('apps'), [{ ...app, scopes: [] }])).rejects.toMatchObject(outside)
      const reader = { ...app, scopes: [`svc:files:read:user:${at('apps')}`] }
      await expect(made(at('apps/inside'), [reader])).rejects.toMatchObject(outside)
    })
  })

  describe('repositories', () => {
    it('keep their hooks and settings, and hooks that are missing are made', async () => {
      const git = repository(directory('work/.git'))
      rmSync(join(git, 'hooks'), { recursive: true })
      expect((await plan(at('work'))).frozen).toEqual([join(git, 'hooks'), join(git, 'config')])
      expect(existsSync(join(git, 'hooks'))).toBe(true)
    })

    it('keep the settings of a single worktree where git reads them', async () => {
      const git = repository(directory('work/.git'))
      writeFileSync(join(git, 'config'), '[extensions]\n\tworktreeConfig = true\n')
      expect((await plan(at('work'))).frozen).toContain(join(git, 'config.worktree'))
    })

    it('are found in mounts for writing, right below, as submodules, and where a directory is one itself', async () => {
      const below = repository(directory('work/project/.git'))
      const module = repository(directory('work/project/.git/modules/lib'))
      const granted = repository(directory('granted/.git'))
      const bare = repository(directory('bare'))
      const read = repository(directory('read/.git'))
      const scopes = [
        `svc:files:rw:user:${at('granted')}`,
        `svc:files:rw:user:${bare}`,
        `svc:files:read:user:${at('read')}`,
      ]
      const { frozen } = await plan(at('work'), scopes)
      for (const git of [below, module, granted, bare]) {
        expect(frozen).toEqual(expect.arrayContaining([join(git, 'hooks'), join(git, 'config')]))
      }
      expect(frozen.filter((path) => path.startsWith(read))).toEqual([])
    })

    const worktreeOf = (common: string, name: string): string => {
      const tree = directory('trees', name)
      const own = join(common, 'worktrees', name)
      mkdirSync(own, { recursive: true })
      writeFileSync(join(tree, '.git'), `gitdir: ${own}\n`)
      writeFileSync(join(own, 'gitdir'), `${join(tree, '.git')}\n`)
      return tree
    }

    it("show a worktree their common directory, without the others' parts of it", async () => {
      const common = repository(directory('main/.git'))
      writeFileSync(join(common, 'index'), '')
      const tree = worktreeOf(common, 'one')
      worktreeOf(common, 'two')
      for (const made of [await plan(tree), await plan(tree, ['svc:llm'], common)]) {
        expect(made.mounts).toEqual([
          { path: tree, mode: 'write' },
          { path: common, mode: 'write' },
        ])
        expect(made.frozen).toEqual(
          expect.arrayContaining([
            join(tree, '.git'),
            ...['hooks', 'config', 'HEAD', 'index', 'worktrees/two'].map((name) => join(common, name)),
          ]),
        )
        expect(made.frozen).not.toContain(join(common, 'worktrees/one'))
      }
    })

    it('are shown to a node that works in a directory of a worktree, its own or by word that of a node above it', async () => {
      const common = repository(directory('main/.git'))
      const tree = directory('home/person/.local/share/svc/worktrees', newId('node'))
      const own = join(common, 'worktrees/own')
      mkdirSync(own, { recursive: true })
      writeFileSync(join(tree, '.git'), `gitdir: ${own}\n`)
      writeFileSync(join(own, 'gitdir'), `${join(tree, '.git')}\n`)
      mkdirSync(join(tree, 'src'))
      const made = await plan(join(tree, 'src'), ['svc:llm'], common)
      expect(made.mounts.map(({ path }) => path)).toEqual([join(tree, 'src'), tree, common])
      expect(made.frozen).not.toContain(own)
      expect(made.frozen).toContain(join(tree, '.git'))
    })

    it('are not shown by a directory of a worktree that was made a link meanwhile', async () => {
      const tree = directory('home/person/.local/share/svc/worktrees', nodeId)
      symlinkSync(directory('home/person/private'), join(tree, 'src'))
      await expect(plan(join(tree, 'src'))).rejects.toMatchObject({ code: 'path_outside_scope' })
    })

    it('are not shown for a .git file that a node wrote itself', async () => {
      const common = repository(directory('main/.git'))
      worktreeOf(common, 'one')
      const work = directory('work')
      writeFileSync(join(work, '.git'), `gitdir: ${join(common, 'worktrees/one')}\n`)
      expect((await plan(work)).mounts).toEqual([{ path: work, mode: 'write' }])
    })

    it('are not shown where a recorded one was made a link meanwhile', async () => {
      const tree = directory('home/person/.local/share/svc/worktrees', nodeId)
      repository(directory('private/.git'))
      directory('work')
      symlinkSync(at('private/.git'), at('work/.git'))
      await expect(plan(tree, [], at('work/.git'))).rejects.toMatchObject({ code: 'path_outside_scope' })
    })

    it('are none by the name of worktrees alone', async () => {
      const work = directory('code/worktrees/one')
      writeFileSync(join(work, '.git'), 'gitdir: .\n')
      writeFileSync(join(work, 'gitdir'), '.git\n')
      expect((await plan(work)).mounts).toEqual([{ path: work, mode: 'write' }])
    })

    it('are shown as at first, whatever a node writes later', async () => {
      const work = directory('bare/worktrees/one')
      repository(at('bare'))
      expect((await plan(work)).mounts).toHaveLength(1)
      writeFileSync(join(work, '.git'), 'gitdir: .\n')
      writeFileSync(join(work, 'gitdir'), '.git\n')
      expect((await plan(work, ['svc:llm'])).mounts).toHaveLength(1)
    })

    it('are shown to a node that another made only where that one sees them', async () => {
      const common = repository(directory('main/.git'))
      const tree = worktreeOf(common, 'one')
      const mountsBy = async (cwd: string, scopes: string[] = []) => {
        const maker = { node_id: newId('node'), cwd, scopes }
        return (await planner.planFor({ nodeId: newId('node'), cwd: tree, scopes: [], makers: [maker] })).mounts
      }
      expect(await mountsBy(at('trees'))).toHaveLength(1)
      expect(await mountsBy(at('trees'), [`svc:files:read:user:${common}`])).toHaveLength(1)
      expect(await mountsBy(at('trees'), [`svc:files:rw:user:${common}`])).toHaveLength(2)
      expect(await mountsBy(tree)).toHaveLength(2)
    })
  })

  describe('where nothing holds programs', () => {
    beforeEach(() => {
      planner = new SandboxPlanner(
        {
          data: { path: data },
          sandbox: { secretFiles: [], limits: { processes: 1, memoryBytes: 1 } },
        } as unknown as HostPlace,
        { ...ground, level: { level: 'none', detail: 'no bubblewrap' } },
      )
    })

    it('is refused to nodes that may run what they like, until the owner consents', async () => {
      const work = directory('work')
      await expect(plan(work, ['svc:act', 'svc:llm'])).rejects.toMatchObject({ code: 'sandbox_required' })
      expect((await plan(work, ['svc:llm'])).level).toBe('none')
      planner.consented = true
      expect((await plan(work, ['svc:act', 'svc:llm'])).level).toBe('none')
    })
  })
})
