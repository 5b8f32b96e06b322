import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { entryAt, ifNoneToRead, realPath } from './real.paths.js'

/** What of the repositories of a node stays as it is: what git runs, or learns what to run from. */
/** Repositories one level below the directory, and submodules, that are looked at; each costs every command a few mounts. */
const mostRepositories = 64
/** Directories that are looked at for one: a plan is made in milliseconds. */
const mostLookedAt = 1000

/** Of the repository of a directory that a node may write in, and of those right below it. */
export const frozenIn = async (directory: string): Promise<string[]> => {
  const entries = (await readdir(directory, { withFileTypes: true }).catch(ifNoneToRead)) ?? []
  const below = entries.filter((entry) => entry.isDirectory() && entry.name !== '.git').slice(0, mostLookedAt)
  const candidates = [directory, ...below.map(({ name }) => join(directory, name))]
  const found: string[] = []
  let repositories = 0
  for (const candidate of candidates) {
    const places = await (candidate === directory ? repositoryAt(candidate) : checkoutAt(candidate))
    found.push(...places)
    if (places.length) repositories += 1
    if (repositories >= mostRepositories) break
  }
  return found
}

const repositoryAt = async (directory: string): Promise<string[]> =>
  (await isGitDirectory(directory)) ? frozenOf(directory) : checkoutAt(directory)

const checkoutAt = async (directory: string): Promise<string[]> => {
  const at = join(directory, '.git')
  const entry = await entryAt(at)
  // Where a link or a file leads is outside: it must lead there tomorrow too, for the person as well.
  if (entry === 'file') return [at]
  return entry === 'directory' && (await isGitDirectory(at)) ? frozenOf(at) : []
}

/** As git itself tells one. */
const isGitDirectory = async (path: string): Promise<boolean> => {
  const [head, objects, refs] = await Promise.all(['HEAD', 'objects', 'refs'].map((name) => entryAt(join(path, name))))
  return (head === 'file' || head === 'link') && objects === 'directory' && refs === 'directory'
}

/** What git runs, or learns what to run from, of a git directory and of its submodules. */
const frozenOf = async (gitDirectory: string): Promise<string[]> => {
  const directories = [gitDirectory, ...(await submodulesOf(join(gitDirectory, 'modules')))]
  const frozen = await Promise.all(directories.map(settingsOf))
  return frozen.flat()
}

/** A missing one is made: else a node could. */
const settingsOf = async (gitDirectory: string): Promise<string[]> => {
  const hooks = join(gitDirectory, 'hooks')
  const config = join(gitDirectory, 'config')
  const perWorktree = join(gitDirectory, 'config.worktree')
  if ((await entryAt(hooks)) === undefined) await mkdir(hooks, { recursive: true }).catch(refusedToUs)
  const text = await readFile(config, 'utf8').catch(ifNoneToRead)
  if (text === undefined) await writeFile(config, '', { flag: 'wx' }).catch(refusedToUs)
  else if (/worktreeConfig/i.test(text)) await writeFile(perWorktree, '', { flag: 'wx' }).catch(refusedToUs)
  const there = await Promise.all(
    [hooks, config, perWorktree].map(async (path) => ((await entryAt(path)) ? [path] : [])),
  )
  return there.flat()
}

/** What this account may not write, nor may its nodes. */
const refusedToUs = (error: NodeJS.ErrnoException): void => {
  if (!['EEXIST', 'EACCES', 'EPERM', 'EROFS', 'ENOENT'].includes(error.code ?? '')) throw error
}

const submodulesOf = async (modules: string, depth = 3): Promise<string[]> => {
  const entries = (await readdir(modules, { withFileTypes: true }).catch(ifNoneToRead)) ?? []
  const found: string[] = []
  for (const entry of entries) {
    if (!entry.isDirectory() || found.length >= mostRepositories) continue
    const path = join(modules, entry.name)
    if (await isGitDirectory(path)) found.push(path, ...(await submodulesOf(join(path, 'modules'), depth - 1)))
    else if (depth > 0) found.push(...(await submodulesOf(path, depth - 1)))
  }
  return found
}

/**
 * The common git directory of a linked worktree that the person made, when both ends name each other: a node can write
 * one of them, never both, unless it writes below the very place.
 */
export const commonOfWorktree = async (directory: string): Promise<string | undefined> => {
  const link = join(directory, '.git')
  if ((await entryAt(link)) !== 'file') return undefined
  const [, named] = /^gitdir: (.+)$/m.exec(await readFile(link, 'utf8').catch(() => '')) ?? []
  const own = named && (await realPath(resolve(directory, named)))
  if (!own || basename(dirname(own)) !== 'worktrees') return undefined
  const back = await readFile(join(own, 'gitdir'), 'utf8').catch(() => '')
  if ((await realPath(resolve(own, back.trim()))) !== (await realPath(link))) return undefined
  const common = dirname(dirname(own))
  // a directory of any other kind may hold one that is called worktrees, in which nodes write
  return (await isGitDirectory(common)) ? common : undefined
}

/** Of the common git directory of a worktree: also what belongs to the main checkout and to other worktrees. */
export const frozenInCommon = async (common: string, worktree: string): Promise<string[]> => {
  const frozen = await frozenOf(common)
  const others: string[] = []
  for (const name of await readdir(join(common, 'worktrees')).catch(() => [])) {
    const path = join(common, 'worktrees', name)
    const back = await readFile(join(path, 'gitdir'), 'utf8').catch(() => '')
    if ((await realPath(dirname(resolve(path, back.trim())))) !== worktree) others.push(path)
  }
  const main = ['HEAD', 'index'].map((name) => join(common, name))
  const there = await Promise.all(main.map(async (path) => ((await entryAt(path)) === 'file' ? [path] : [])))
  return [...frozen, ...there.flat(), ...others]
}
