import { describe, expect, it } from '@jest/globals'
import { sandboxArgv } from './sandbox.argv.js'
import type { SandboxPlan } from './sandbox.plan.js'

const plan = (more: Partial<SandboxPlan> = {}): SandboxPlan => ({
  level: 'bubblewrap',
  bwrap: '/usr/bin/bwrap',
  mounts: [{ path: '/home/ada/work', mode: 'write' }],
  frozen: [],
  hidden: [],
  system: [],
  home: '/data/nodes/n/home',
  homeAt: '/home/ada',
  temporary: '/data/nodes/n/tmp',
  env: {},
  limits: { processes: 100, memoryBytes: 1e9 },
  ...more,
})

/** What is put where, in order, as `option source target`. */
const layersOf = (more: Partial<SandboxPlan>, there: Record<string, string> = {}): string[] => {
  const argv = sandboxArgv(plan(more), '/home/ada/work', (path) => {
    const found = there[path] ?? 'directory'
    return found.startsWith('->') ? { target: found.slice(2) } : (found as 'directory')
  })
  return argv
    .slice(argv.indexOf('ALL') + 1)
    .join(' ')
    .split(/ (?=--)/)
}

describe('the options for bubblewrap', () => {
  it('separate the program from all others, and let it live no longer than who started it', () => {
    const argv = sandboxArgv(plan({ nestingRefused: true }), '/home/ada/work')
    expect(argv).toEqual(
      expect.arrayContaining(['--unshare-user', '--unshare-pid', '--die-with-parent', '--new-session']),
    )
    expect(argv.join(' ')).toContain('--cap-drop ALL')
    expect(argv).toContain('--disable-userns')
    expect(sandboxArgv(plan(), '/home/ada/work')).not.toContain('--disable-userns')
    expect(argv.slice(-2)).toEqual(['--chdir', '/home/ada/work'])
  })

  it('show the system read-only, its links as links, and nothing where nothing is', () => {
    const system = ['/usr', '/bin', '/lib64']
    const layers = layersOf({ system }, { '/bin': '->usr/bin', '/lib64': 'nothing' })
    expect(layers.slice(0, 2)).toEqual(['--ro-bind /usr /usr', '--symlink usr/bin /bin'])
    expect(layers.join(' ')).not.toContain('/lib64')
  })

  // svc is installed in a home more often than not: the second program of a node found the link that the first was given.
  it("show the kernel's settings, and let nobody change them", () => {
    const layers = layersOf({})
    const at = layers.indexOf('--proc /proc')
    expect(layers.slice(at + 1)).toEqual(
      expect.arrayContaining(['sys', 'sysrq-trigger', 'fs'].map((name) => `--ro-bind-try /proc/${name} /proc/${name}`)),
    )
  })

  it("show what a link of the system leads to where it lies in the node's own directories", () => {
    const system = ['/home/ada/svc/node', '/tmp/svc/node']
    const layers = layersOf({ system }, { '/home/ada/svc/node': '->../node', '/tmp/svc/node': '->../node' })
    expect(layers.filter((layer) => layer.includes('svc/node'))).toEqual([
      '--ro-bind-try /tmp/svc/node /tmp/svc/node',
      '--ro-bind-try /home/ada/svc/node /home/ada/svc/node',
    ])
  })

  it("put the node's own directories where the person's are", () => {
    const layers = layersOf({})
    expect(layers).toContain('--bind /data/nodes/n/home /home/ada')
    expect(layers).toContain('--bind /data/nodes/n/tmp /tmp')
  })

  it('lay what is deeper over what is above it', () => {
    const layers = layersOf({
      mounts: [
        { path: '/data/worktrees/n', mode: 'write' },
        { path: '/', mode: 'read' },
      ],
      hidden: ['/data', '/data/worktrees/n/secret'],
    })
    const order = ['--ro-bind / /', '--tmpfs /data', '--bind /data/worktrees/n', '--tmpfs /data/worktrees/n/secret']
    const at = order.map((one) => layers.findIndex((layer) => layer.startsWith(one)))
    expect(at).toEqual(at.toSorted((one, other) => one - other))
    expect(at).not.toContain(-1)
  })

  it('hide files as well as directories, and leave out what is gone', () => {
    const there = { '/home/ada/work/key': 'other', '/home/ada/work/old': 'nothing', '/home/ada/work/link': '->key' }
    const hidden = ['/home/ada/work/key', '/home/ada/work/old', '/home/ada/work/link']
    expect(layersOf({ hidden }, there).filter((layer) => /key|old|link/.test(layer))).toEqual([
      '--ro-bind /dev/null /home/ada/work/key',
    ])
  })

  it('freeze what git would run, and hold what it lies in', () => {
    const layers = layersOf({ frozen: ['/home/ada/work/.git/hooks', '/home/ada/work/.git/config'] })
    expect(layers.slice(-4)).toEqual([
      '--bind /home/ada/work/.git /home/ada/work/.git',
      '--ro-bind /home/ada/work/.git/hooks /home/ada/work/.git/hooks',
      '--ro-bind /home/ada/work/.git/config /home/ada/work/.git/config',
      '--chdir /home/ada/work',
    ])
  })

  it('go by what was opened where programs may write', () => {
    const held = sandboxArgv(
      plan({ frozen: ['/home/ada/work/.git/config'], system: ['/usr'] }),
      '/home/ada/work',
      () => 'directory',
      (path) => (path.endsWith('.git') ? 6 : path.endsWith('config') ? 7 : 5),
    ).join(' ')
    expect(held).toContain('--bind-fd 5 /home/ada/work --bind-fd 6 /home/ada/work/.git --ro-bind-fd 7 ')
    expect(held).toContain('--ro-bind /usr /usr')
  })

  // Else a program renames the directory above, and the next one finds nothing to hide where it was.
  it('hold what something hidden lies in', () => {
    const layers = layersOf({ hidden: ['/home/ada/work/a/b/data'] })
    expect(layers.slice(-4, -1)).toEqual([
      '--bind /home/ada/work/a /home/ada/work/a',
      '--bind /home/ada/work/a/b /home/ada/work/a/b',
      '--tmpfs /home/ada/work/a/b/data',
    ])
  })

  // A node in / was once given /etc and /tmp for writing: they were held for what is hidden in them.
  it("hold nothing that the system or the node's own directories lie over", () => {
    const layers = layersOf({
      mounts: [{ path: '/', mode: 'write' }],
      system: ['/etc'],
      hidden: ['/etc/shadow', '/tmp/data/svc'],
      homeAt: '/data/nodes/n/home',
    })
    expect(layers.filter((layer) => /etc|tmp/.test(layer))).toEqual([
      '--ro-bind /etc /etc',
      '--bind /data/nodes/n/tmp /tmp',
      '--tmpfs /etc/shadow',
    ])
  })
})
