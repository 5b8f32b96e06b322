import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'

/** Files that one call of setfacl is given: each is an open descriptor of ours. */
const batch = 128
/** Longest time in ms for one tree: a person waits for the node meanwhile. */
const patience = 30_000

const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * Gives an account access to trees by access control lists, and takes it back. Nothing is named by its path but the top:
 * what is opened is what is changed, so that nobody who writes the tree meanwhile leads us elsewhere by a link.
 */
export class TreeAccess {
  constructor(
    private readonly clock: Clock,
    private readonly setfacl = 'setfacl',
  ) {}

  /** @throws SvcError `file_access_denied` when the file system has no access control lists, or the tree is too large. */
  async grant(path: string, uid: number, mode: 'read' | 'write'): Promise<void> {
    const rights = mode === 'write' ? 'rwX' : 'rX'
    const top = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const { uid: owner } = await top.stat().finally(() => top.close())
    // Whose the tree is keeps access to what the node makes in it.
    const inherited = `d:u:${uid}:${rights},d:u:${owner}:rwX`
    await this.#walk(path, {
      directories: ['-m', `u:${uid}:${rights},${inherited}`],
      files: ['-m', `u:${uid}:${rights}`],
    })
  }

  /** Also hands what the account made to whose the tree is. */
  async takeBack(path: string, uid: number): Promise<void> {
    const entry = `u:${uid}`
    await this.#walk(path, { directories: ['-x', `${entry},d:${entry}`], files: ['-x', entry] }, uid)
  }

  /** Of the directories that lead to a path, those which not everybody may pass. */
  async closedOn(path: string): Promise<string[]> {
    const closed: string[] = []
    for (let at = dirname(path); at !== '/'; at = dirname(at)) {
      const stat = await lstat(at).catch(ifGone)
      if (stat && !(stat.mode & 0o001)) closed.push(at)
    }
    return closed
  }

  /** Lets an account pass a directory, without seeing what is in it. */
  async openPassage(path: string, uid: number): Promise<void> {
    const handle = await open(path, flags | constants.O_DIRECTORY)
    await this.#set([handle], ['-m', `u:${uid}:x`]).finally(() => handle.close())
  }

  async closePassage(path: string, uid: number): Promise<void> {
    const handle = await open(path, flags | constants.O_DIRECTORY).catch(ifGone)
    if (!handle) return
    await this.#set([handle], ['-x', `u:${uid}`]).finally(() => handle.close())
  }

  async #walk(
    path: string,
    options: { readonly directories: readonly string[]; readonly files: readonly string[] },
    formerly?: number,
  ): Promise<void> {
    const top = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(ifGone)
    if (!top) return
    const deadline = this.clock.monotonic() + patience
    const { uid: owner, gid } = await top.stat()
    const linked = await hardLinksAreSafe()
    const files: FileHandle[] = []
    const flush = async (): Promise<void> => {
      const full = files.splice(0)
      try {
        if (full.length) await this.#set(full, options.files)
      } finally {
        await Promise.all(full.map((handle) => handle.close()))
      }
    }
    const visit = async (handle: FileHandle): Promise<void> => {
      if (this.clock.monotonic() > deadline) throw tooLarge(path)
      const stat = await handle.stat()
      const usable = stat.isDirectory() || (stat.isFile() && (stat.nlink === 1 || linked))
      if (usable && stat.uid === formerly) await handle.chown(owner, gid)
      if (!usable || !stat.isDirectory()) {
        if (usable) files.push(handle)
        else await handle.close()
        return files.length >= batch ? flush() : undefined
      }
      try {
        await this.#set([handle], options.directories)
        for (const name of await readdir(`/proc/self/fd/${handle.fd}`)) {
          const entry = await open(`/proc/self/fd/${handle.fd}/${name}`, flags).catch(ifNoFile)
          if (entry) await visit(entry)
        }
      } finally {
        await handle.close()
      }
    }
    try {
      await visit(top)
    } finally {
      await flush()
    }
  }

  async #set(handles: readonly FileHandle[], options: readonly string[]): Promise<void> {
    const paths = handles.map((_handle, at) => `/proc/self/fd/${at + 3}`)
    const child = spawn(this.setfacl, [...options, '--', ...paths], {
      cwd: '/',
      env: { PATH: process.env.PATH ?? '/usr/bin', LC_ALL: 'C' },
      stdio: ['ignore', 'ignore', 'pipe', ...handles.map(({ fd }) => fd)],
      timeout: patience,
    })
    let said = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = `${said}${text}`.slice(0, 500)
    })
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', resolve)
    })
    if (code !== 0) {
      const why = said.trim().split('\n')[0] || `setfacl ended with ${code}`
      throw new SvcError('file_access_denied', `A node's own account can't be given access: ${why}`)
    }
  }
}

const tooLarge = (path: string): SvcError =>
  new SvcError('file_access_denied', `${path} is too large to give a node's own account access to within 30 s`, {
    path,
  })

/** Where anybody may link to files of others, what a node linked into its tree may be anybody's. */
const hardLinksAreSafe = async (): Promise<boolean> => {
  const text = await readFile('/proc/sys/fs/protected_hardlinks', 'utf8').catch(() => '0')
  return text.trim() === '1'
}

const ifGone = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}

/** Links, sockets and what went meanwhile; links and sockets have no lists of their own. */
const ifNoFile = (error: NodeJS.ErrnoException): undefined => {
  if (!['ELOOP', 'ENXIO', 'ENOENT', 'EACCES', 'ENODEV'].includes(error.code ?? '')) throw error
}
