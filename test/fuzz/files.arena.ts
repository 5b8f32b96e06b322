import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FileView } from '#machine/files/file.view.js'

/** Stands in every file that nobody may read. */
export const canary = 'CANARY-5b1f'

/** A name that no list may hold, and that the fuzzer never makes. */
export const unlisted = 'unlisted-5b1f'

/** Does something that may fail, since the swapper or another attack was there first. */
export const attempt = (work: () => void): void => {
  try {
    work()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
  }
}

/** A tree to be attacked: what may be reached, and around it what may not. */
export class Arena {
  readonly base = mkdtempSync(join(tmpdir(), 'svc-fuzz-files-'))
  readonly work = join(this.base, 'work')
  readonly outside = join(this.base, 'outside')
  readonly view: FileView
  /** What this machine let us make: pipes, devices, mount points. */
  readonly kinds: string[] = []
  readonly #mounts: string[] = []

  constructor() {
    const { base, work, outside } = this
    for (const path of ['work', 'own', 'mount', 'outside/dir/deep', 'work/hidden/own', 'work/frozen/sub'])
      mkdirSync(join(base, path), { recursive: true })
    this.#makeCanaries()
    this.refresh()
    for (const path of [join(base, 'mount/a'), join(base, 'own/a'), join(work, 'hidden/own/a')])
      writeFileSync(path, 'fine')
    this.view = {
      cwd: work,
      roots: [
        { at: '/tmp', real: join(base, 'own'), mode: 'write' },
        { at: work, real: work, mode: 'write' },
        { at: join(base, 'mount'), real: join(base, 'mount'), mode: 'read' },
        { at: join(work, 'hidden/own'), real: join(work, 'hidden/own'), mode: 'write' },
      ],
      links: [join(base, 'name'), '/bin', '/proc/self'],
      frozen: [join(work, 'frozen'), join(work, 'frozen.txt'), join(work, 'absent-frozen')],
      hidden: [join(work, 'hidden')],
    }
    symlinkSync(outside, join(base, 'name'))
    this.#makeSpecials()
  }

  #makeCanaries(): void {
    const { work, outside } = this
    const secrets = ['a', unlisted, 'dir/a', `dir/${unlisted}`, 'dir/deep/a', 'sub']
    for (const path of secrets) writeFileSync(join(outside, path), `${canary} ${path}`)
    for (const path of ['hidden/a', `hidden/${unlisted}`]) writeFileSync(join(work, path), `${canary} ${path}`)
    for (const path of ['frozen/a', 'frozen/sub/a', 'frozen.txt']) writeFileSync(join(work, path), 'frozen')
    writeFileSync(join(outside, 'linked'), 'also inside, by a hard link')
  }

  /**
   * What attacks have carried away is put back. It goes by descriptors: the swapper must not lead the fuzzer itself
   * outside.
   */
  refresh(): void {
    const { work, outside } = this
    attempt(() => mkdirSync(join(work, 'dir')))
    attempt(() => mkdirSync(join(work, 'swap')))
    attempt(() => writeFileSync(join(work, 'a'), 'fine', { flag: 'wx' }))
    attempt(() => linkSync(join(outside, 'linked'), join(work, 'linked')))
    attempt(() => symlinkSync(outside, join(work, 'out')))
    this.within('dir', (dir) => {
      attempt(() => mkdirSync(join(dir, 'deep')))
      attempt(() => writeFileSync(join(dir, 'a'), 'fine', { flag: 'wx' }))
    })
  }

  /** Hands on a path to a directory right below `work`, which leads there whatever takes its name; unless a link has it. */
  within(name: string, use: (path: string) => void): void {
    attempt(() => {
      const fd = openSync(join(this.work, name), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
      try {
        use(`/proc/self/fd/${fd}`)
      } finally {
        closeSync(fd)
      }
    })
  }

  #makeSpecials(): void {
    const make = (kind: string, ...argv: [string, ...string[]]): void => {
      if (spawnSync(argv[0], argv.slice(1), { stdio: 'ignore' }).status === 0) this.kinds.push(kind)
    }
    make('pipe', 'mkfifo', join(this.work, 'pipe'))
    make('device', 'mknod', join(this.work, 'device'), 'c', '1', '5')
    make('terminal', 'mknod', join(this.work, 'terminal'), 'c', '5', '0')
    for (const [kind, options] of Object.entries({ proc: ['-t', 'proc', 'proc'], tmpfs: ['-t', 'tmpfs', 'tmpfs'] })) {
      const path = join(this.work, `mounted-${kind}`)
      mkdirSync(path)
      if (spawnSync('mount', [...options, path], { stdio: 'ignore' }).status !== 0) continue
      this.#mounts.push(path)
      this.kinds.push(`mounted ${kind}`)
    }
  }

  /** All that must stay as it is: names, bytes and, where nobody has any business, the files themselves. */
  digest(): string {
    const hash = createHash('sha256')
    const add = (path: string): void => {
      const stat = lstatSync(path)
      hash.update(`${path} ${stat.mode} ${stat.ino} ${stat.size}\n`)
      if (stat.isSymbolicLink()) hash.update(readlinkSync(path))
      else if (stat.isFile()) hash.update(readFileSync(path))
      else if (stat.isDirectory()) for (const name of readdirSync(path).sort()) add(join(path, name))
    }
    for (const path of [this.outside, join(this.base, 'mount'), join(this.base, 'name')]) add(path)
    for (const path of ['hidden/a', `hidden/${unlisted}`, 'frozen', 'frozen.txt']) add(join(this.work, path))
    hash.update(readdirSync(join(this.work, 'hidden')).join())
    hash.update(readdirSync(this.base).sort().join())
    return hash.digest('hex')
  }

  remove(): void {
    for (const path of this.#mounts) spawnSync('umount', ['-l', path], { stdio: 'ignore' })
    rmSync(this.base, { recursive: true, force: true })
  }
}
