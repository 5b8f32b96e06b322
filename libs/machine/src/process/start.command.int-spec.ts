import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { describeWhere } from '#common/testing/describe-with-engine.js'
import { waitFor } from '#common/testing/wait-for.js'
import { readProcesses } from './process-table.js'
import { carries } from './process-tree.js'
import { Ground, hasBubblewrap, takesOpenFiles } from './start.command.fixture.js'

/** Living processes whose command line holds the word. */
const named = (word: string): number[] =>
  readProcesses().flatMap(({ pid }) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(word) ? [pid] : []
    } catch {
      // Gone meanwhile.
      return []
    }
  })

/** Children of this process that were not reaped. */
const zombies = (): number =>
  readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return state === 'Z' && Number(parent) === process.pid
    } catch {
      return false
    }
  }).length

let ground: Ground
beforeAll(() => {
  ground = new Ground()
})
afterAll(() => ground.remove())

/** Deaf to SIGTERM, with no mark, no parent and no session of those that started it. */
const fugitive = (word: string): string =>
  `env -i PATH=/usr/bin:/bin setsid bash -c '(setsid bash -c "trap \\"\\" TERM; while :; do sleep 1; done; : ${word}" &); exit' & sleep 300; : ${word}`

describeWhere(hasBubblewrap, 'bubblewrap', 'a command in a sandbox', () => {
  // A fork bomb took the person's account with it where no control groups can be had.
  it('of a shell has bounds of its own, which it can not lift', async () => {
    const bounds = 'echo $(ulimit -Hu) $(ulimit -Hc)'
    expect(await ground.bash(`${bounds}; ulimit -c unlimited || echo refused`)).toMatchObject({
      stdout: '500 0\nrefused\n',
    })
    const { stdout } = await ground.bash(bounds, { plan: ground.plan({ level: 'none' }) })
    expect(stdout).toMatch(/^(?!500 ).* 0\n$/)
  })

  describe('sees', () => {
    it('its working directory, a home and a /tmp of its own, which stay; and writes into them', async () => {
      const { stdout, code } = await ground.bash(
        'pwd; echo $HOME $TMPDIR; echo a > in-cwd; echo b > ~/in-home; echo c > /tmp/in-tmp',
      )
      expect({ stdout, code }).toEqual({ stdout: `${ground.cwd}\n/home/person /tmp\n`, code: 0 })
      expect(readFileSync(join(ground.cwd, 'in-cwd'), 'utf8')).toBe('a\n')
      expect(readFileSync(join(ground.home, 'in-home'), 'utf8')).toBe('b\n')
      expect((await ground.bash('cat ~/in-home /tmp/in-tmp')).stdout).toBe('b\nc\n')
    })

    it('nothing beside it, no other process, and a system that it can not write', async () => {
      writeFileSync(join(ground.root, 'person/secret'), 'key')
      const { stdout } = await ground.bash(
        `cat ${ground.root}/person/secret || echo unseen; ls ${ground.root}/person; touch /usr/x /etc/x || echo refused; ls /proc | grep -c '^[0-9]'`,
      )
      expect(stdout).toMatch(/^unseen\nwork\nrefused\n[2-6]\n$/)
    })

    it('what is mounted for reading, but not what is hidden in it, and writes neither', async () => {
      const shared = join(ground.root, 'shared')
      mkdirSync(join(shared, 'private'), { recursive: true })
      writeFileSync(join(shared, 'note'), 'note')
      writeFileSync(join(shared, 'private/key'), 'key')
      const mounts = [...ground.plan().mounts, { path: shared, mode: 'read' } as const]
      const plan = ground.plan({ mounts, hidden: [join(shared, 'private')] })
      const { stdout } = await ground.bash(
        `cd ${shared}; cat note; cat private/key || echo -unseen; touch x || echo refused`,
        { plan },
      )
      expect(stdout).toBe('note-unseen\nrefused\n')
    })

    it('a worktree that lies in the hidden data directory', async () => {
      const tree = join(ground.root, 'data/worktrees/n')
      mkdirSync(tree, { recursive: true })
      const plan = ground.plan({ mounts: [{ path: tree, mode: 'write' }], hidden: [join(ground.root, 'data')] })
      const { stdout } = await ground.bash(`pwd; echo x > made; ls ${ground.root}/data ${ground.root}/data/worktrees`, {
        plan,
        cwd: tree,
      })
      expect(stdout.split('\n').filter((line) => line && !line.endsWith(':'))).toEqual([tree, 'worktrees', 'n'])
      expect(readFileSync(join(tree, 'made'), 'utf8')).toBe('x\n')
    })

    it('what is frozen, and can neither write it nor move it away', async () => {
      const hooks = join(ground.cwd, 'repo/.git/hooks')
      mkdirSync(hooks, { recursive: true })
      writeFileSync(join(ground.cwd, 'repo/.git/config'), '[core]\n')
      const plan = ground.plan({ frozen: [hooks, join(ground.cwd, 'repo/.git/config')] })
      const attempts = [
        'touch repo/.git/hooks/x',
        'echo x > repo/.git/config',
        'mv repo/.git away',
        'mv repo away',
        'rm -rf repo/.git/hooks',
      ]
      const { stdout } = await ground.bash(
        `${attempts.join(' || echo refused; ')} || echo refused; touch repo/.git/index repo/file && echo fine`,
        { plan },
      )
      expect(stdout).toBe(`${'refused\n'.repeat(5)}fine\n`)
    })

    it('its own environment alone, and no channel of whoever started it', async () => {
      const { stdout } = await ground.bash('env | sort; ls /proc/self/fd', {
        env: { COLOR: 'red', LD_PRELOAD: '' },
      })
      const names = stdout.split('\n').flatMap((line) => (line.includes('=') ? [line.split('=')[0]] : []))
      expect(names).toEqual(['COLOR', 'HOME', 'LD_PRELOAD', 'PATH', 'PWD', 'SHLVL', 'SVC_TEST_MARK', 'TMPDIR', '_'])
      // Standard input, output and error, and the directory that ls reads; what stands above was left open by this process's own parents.
      const channels = stdout.split('\n').filter((line) => /^\d+$/.test(line) && Number(line) < 16)
      expect(channels).toEqual(['0', '1', '2', '3'])
    })

    it('nothing of its environment shown to others in a command line', async () => {
      const running = ground.start(['sleep', '300'], { env: { SVC_TOKEN: 'svc-not-for-others' } })
      await waitFor(() => readProcesses().filter(carries('SVC_TEST_MARK', running.mark)).length >= 3)
      expect(named('svc-not-for-others')).toEqual([])
      await running.kill(0)
    })
  })

  describe('is refused, and says so as the system does', () => {
    it.each([
      ['a program that is not there', ['no-such-program'], {}, { code: 'ENOENT', syscall: 'spawn' }],
      ['one that is none', ['/etc/passwd'], {}, { code: 'EACCES', syscall: 'spawn' }],
      ['one without a name', [''], {}, { code: 'EINVAL', syscall: 'spawn' }],
      ['a command line that is too long', ['true', 'x'.repeat(200_000)], {}, { code: 'E2BIG' }],
      [
        'a directory that is not there',
        ['true'],
        { cwd: '/no/such' },
        { syscall: 'cwd', message: 'it does not exist' },
      ],
    ])('%s', async (_, argv, more, refusal) => {
      const end = await ground.run(argv as [string], more)
      expect(end).toMatchObject({ code: null, signal: null, refusal, stdout: '', stderr: '' })
    })

    it('a mount that vanished', async () => {
      const plan = ground.plan({ mounts: [...ground.plan().mounts, { path: '/no/such/mount', mode: 'read' }] })
      const { refusal } = await ground.bash('true', { plan })
      expect(refusal).toMatchObject({ syscall: 'sandbox', message: expect.stringContaining('/no/such/mount') })
    })

    // Whoever may write there would be shown what the link leads to.
    it.each([true, false])('a mount that became a link, or lies behind one (by open files: %s)', async (given) => {
      const link = join(ground.root, `became-a-link-${given}`)
      symlinkSync('/etc', link)
      for (const path of [link, join(link, 'ssl')]) {
        const plan = ground.plan({
          takesOpenFiles: given && takesOpenFiles,
          mounts: [...ground.plan().mounts, { path, mode: 'read' }],
        })
        const { refusal } = await ground.bash('true', { plan })
        expect(refusal).toMatchObject({ syscall: 'sandbox', message: expect.stringMatching(/is a link by now/) })
      }
    })
  })

  describe('ends', () => {
    it.each([
      ['exit 0', { code: 0, signal: null }],
      ['exit 7', { code: 7, signal: null }],
      ['exit 1', { code: 1, signal: null }],
      ['exit 255', { code: 255, signal: null }],
      ['kill -9 $$', { code: null, signal: 'SIGKILL' }],
      ['kill -TERM $$', { code: null, signal: 'SIGTERM' }],
      ['kill -SEGV $$', { code: null, signal: 'SIGSEGV' }],
    ])('by `%s` as it ended', async (script, end) => {
      expect(await ground.bash(script)).toMatchObject({ ...end, refusal: null })
    })

    it('with all that it printed, also where that looks like words of bubblewrap', async () => {
      const { code, stderr } = await ground.bash('echo "bwrap: execvp me: No such file or directory" >&2; exit 1')
      expect({ code, stderr }).toEqual({ code: 1, stderr: 'bwrap: execvp me: No such file or directory\n' })
    })

    it('having read what was written to it', async () => {
      expect((await ground.run(['cat'], {}, 'line\n')).stdout).toBe('line\n')
      expect((await ground.bash('wc -c')).stdout.trim()).toBe('0')
    })

    it('with what it left in the background', async () => {
      const running = ground.start(['bash', '-c', 'sleep 309 & exit 0'])
      expect(await running.ended).toMatchObject({ code: 0 })
      await running.kill(0)
      expect(named('sleep\x00309')).toEqual([])
    })
  })

  describe('is killed', () => {
    it('by SIGTERM, when it heeds it', async () => {
      const running = ground.start(['bash', '-c', 'trap "echo bye > bye; exit 3" TERM; echo > ready; sleep 300 & wait'])
      await waitFor(() => readdirSync(ground.cwd).includes('ready'))
      await running.kill(5000)
      expect(await running.ended).toMatchObject({ code: 3 })
      expect(readFileSync(join(ground.cwd, 'bye'), 'utf8')).toBe('bye\n')
    })

    it('with what wiped its environment and left its parent and its session, before kill answers', async () => {
      const word = `svc-fugitive-${process.pid}`
      const running = ground.start(['bash', '-c', fugitive(word)])
      // bash itself, the one that it started away, and what that runs.
      await waitFor(() => named(`done; : ${word}`).length >= 1 && named(word).length >= 2)
      await running.kill(100)
      expect(named(word)).toEqual([])
      expect(readProcesses().filter(carries('SVC_TEST_MARK', running.mark))).toEqual([])
    })

    it('before it was started, or after its end, all the same', async () => {
      const running = ground.start(['sleep', '300'])
      await running.kill(0)
      await running.kill(0)
      expect(readProcesses().filter(carries('SVC_TEST_MARK', running.mark))).toEqual([])
    })
  })

  it('leaves no zombie and no channel behind in 300 runs', async () => {
    await ground.run(['true'])
    const channels = readdirSync('/proc/self/fd').length
    const queue = Array.from({ length: 300 }, (_, at) => at)
    const worker = async (): Promise<void> => {
      while (queue.pop() !== undefined) expect((await ground.run(['true'])).code).toBe(0)
    }
    await Promise.all(Array.from({ length: 8 }, worker))
    expect(zombies()).toBe(0)
    await waitFor(() => readdirSync('/proc/self/fd').length <= channels + 2)
  })

  it('prints 300 MB without being held in memory', async () => {
    let bytes = 0
    const before = process.memoryUsage().rss
    let most = before
    const { code } = await ground.run(['head', '-c', '300000000', '/dev/zero'], {
      onStdout: (chunk) => {
        bytes += chunk.length
        most = Math.max(most, process.memoryUsage.rss())
      },
    })
    expect({ code, bytes }).toEqual({ code: 0, bytes: 300_000_000 })
    expect(most - before).toBeLessThan(120_000_000)
  })
})

describeWhere(takesOpenFiles, 'a bubblewrap that takes open files', 'a mount', () => {
  // A node that may write above another's directory puts a link there between the look and the mount.
  it('shows what was there when it was started, however fast a link to something else is put in its place', async () => {
    const secret = join(ground.root, 'person/keys')
    const shared = join(ground.root, 'exchanged')
    const mount = join(shared, 'mount')
    for (const directory of [secret, mount]) mkdirSync(directory, { recursive: true })
    writeFileSync(join(secret, 'key'), 'the key')
    const plan = ground.plan({ mounts: [...ground.plan().mounts, { path: mount, mode: 'read' }] })
    let shown = 0
    for (let run = 0; run < 60; run += 1) {
      let over = false
      const ended = ground.bash(`ls ${mount}`, { plan }).then((end) => {
        over = true
        return end
      })
      for (let turn = 0; !over; turn += 1) {
        // The command was started with the directory in its place.
        if (turn % 2 === 0) {
          renameSync(mount, join(shared, 'away'))
          symlinkSync(secret, mount)
        } else {
          rmSync(mount)
          renameSync(join(shared, 'away'), mount)
        }
        await new Promise((resolve) => setImmediate(resolve))
      }
      if (lstatSync(mount).isSymbolicLink()) {
        rmSync(mount)
        renameSync(join(shared, 'away'), mount)
      }
      if ((await ended).stdout.includes('key')) shown += 1
    }
    expect(shown).toBe(0)
  })
})

describe('a command without a sandbox', () => {
  const plain = { level: 'none' } as const

  it.each([
    ['exit 7', { code: 7, signal: null }],
    ['kill -9 $$', { code: null, signal: 'SIGKILL' }],
  ])('ends by `%s` as it ended', async (script, end) => {
    expect(await ground.bash(script, { plan: ground.plan(plain) })).toMatchObject({ ...end, refusal: null })
  })

  it("has the node's own directories as they are", async () => {
    const { stdout } = await ground.bash('echo $HOME $TMPDIR', { plan: ground.plan(plain) })
    expect(stdout).toBe(`${ground.home} ${ground.temporary}\n`)
  })

  it('is killed with what left its parent and its session', async () => {
    const word = `svc-plain-${process.pid}`
    const running = ground.start(['bash', '-c', `setsid bash -c "sleep 300; : ${word}" & sleep 300; : ${word}`], {
      plan: ground.plan(plain),
    })
    await waitFor(() => named(word).length >= 2)
    await running.kill(100)
    expect(named(word)).toEqual([])
  })

  it('is refused where its program is not there', async () => {
    const { refusal } = await ground.run(['no-such-program'], { plan: ground.plan(plain) })
    expect(refusal).toMatchObject({ code: 'ENOENT' })
  })
})
