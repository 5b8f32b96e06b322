import { constants } from 'node:fs'
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ifNoneToRead } from '../sandbox/real.paths.js'
import type { GitCommand } from './git.command.js'

/** Settings that say how files become blobs and what is ignored; values only, no program among them. */
const keptSettings = [
  'core.autocrlf',
  'core.eol',
  'core.fileMode',
  'core.symlinks',
  'core.ignoreCase',
  'core.precomposeUnicode',
  'core.excludesFile',
] as const

/** Bytes of an index, and of a list of patterns, that are copied at most. */
const indexBytes = 512 * 1024 * 1024
const patternBytes = 1024 * 1024

/**
 * A git directory of the host's own, over the objects of a repository: git reads its settings, attributes, hooks and
 * refs from here alone. The repository's own directory is written by agents, and its settings name programs (filters
 * above all, whose names can't be known) that git would run as the host.
 */
export class PrivateGitDir {
  private constructor(
    private readonly path: string,
    private readonly tree: string,
    private readonly objects: string,
  ) {}

  /**
   * @param home directory of the host's own that it is made in
   * @param head commit that the tree is compared with
   */
  static async make(
    git: GitCommand,
    place: { home: string; gitDir: string; tree: string; head: string },
  ): Promise<PrivateGitDir> {
    await mkdir(place.home, { recursive: true, mode: 0o700 })
    const made = new PrivateGitDir(await mkdtemp(join(place.home, 'git-')), place.tree, join(place.gitDir, 'objects'))
    try {
      await made.#fill(git, place.gitDir, place.head)
      return made
    } catch (error) {
      await made.remove()
      throw error
    }
  }

  /** Environment for git: this directory, the tree, and the index at a path. */
  env(index = join(this.path, 'index')): Record<string, string> {
    return {
      GIT_DIR: this.path,
      GIT_WORK_TREE: this.tree,
      GIT_OBJECT_DIRECTORY: this.objects,
      GIT_INDEX_FILE: index,
      GIT_CONFIG_GLOBAL: '/dev/null',
    }
  }

  /** Takes a copy of the index that the node's own git keeps; false when it is none that can be read. */
  async takeIndex(from: string): Promise<boolean> {
    return copy(from, join(this.path, 'index'), indexBytes)
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true })
  }

  async #fill(git: GitCommand, gitDir: string, head: string): Promise<void> {
    await mkdir(join(this.path, 'refs'))
    await mkdir(join(this.path, 'info'))
    await Promise.all([
      writeFile(join(this.path, 'HEAD'), `${head}\n`),
      writeFile(join(this.path, 'config'), await this.#config(git, gitDir, head)),
      copy(join(gitDir, 'info/exclude'), join(this.path, 'info/exclude'), patternBytes),
      copy(join(gitDir, 'info/attributes'), join(this.path, 'info/attributes'), patternBytes),
    ])
  }

  async #config(git: GitCommand, gitDir: string, head: string): Promise<string> {
    const sha256 = head.length === 64
    const values = await Promise.all(
      keptSettings.map(async (name) => {
        const type = name === 'core.excludesFile' ? ['--type=path'] : []
        const end = await git.run({ args: ['config', ...type, '--get', name], env: { GIT_DIR: gitDir } })
        return end.code === 0 ? `\t${name.slice('core.'.length)} = ${quoted(end.stdout.replace(/\n$/, ''))}\n` : ''
      }),
    )
    return [
      `[core]\n\trepositoryformatversion = ${sha256 ? 1 : 0}\n\tbare = false\n`,
      ...values,
      sha256 ? '[extensions]\n\tobjectFormat = sha256\n' : '',
    ].join('')
  }
}

const quoted = (value: string): string =>
  `"${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t')}"`

/** Copies a regular file: no link is followed, no pipe waited for. */
const copy = async (from: string, to: string, most: number): Promise<boolean> => {
  const source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(ifNoneToRead)
  if (!source) return false
  try {
    const stat = await source.stat()
    if (!stat.isFile() || stat.size > most) return false
    await mkdir(dirname(to), { recursive: true })
    const target = await open(to, 'w', 0o600)
    try {
      await target.writeFile(source.createReadStream({ autoClose: false, end: most }))
      await target.utimes(stat.atime, stat.mtime)
    } finally {
      await target.close()
    }
    return true
  } finally {
    await source.close()
  }
}

/** Reads a small regular file of a directory that an agent writes; null when it is none. */
export const smallText = async (path: string): Promise<string | null> => {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(ifNoneToRead)
  if (!file) return null
  try {
    if (!(await file.stat()).isFile()) return null
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4096), 0, 4096, 0)
    return buffer.subarray(0, bytesRead).toString('utf8')
  } finally {
    await file.close()
  }
}
