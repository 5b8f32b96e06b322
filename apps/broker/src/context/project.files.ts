import type { FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ConfinedFiles } from '../tools/confined.path.js'
import { ToolError } from '../tools/tool.js'

/** Bytes of all files of a project together that an agent is given. */
export const projectBytes = 32 * 1024
/** Directories above the working directory that are looked into. */
const highest = 32
const names = ['AGENTS.md', 'CLAUDE.md'] as const

export interface ProjectFile {
  readonly path: string
  readonly text: string
  /** Bytes of it that were left out. */
  readonly omitted: number
}

/** The answer, or undefined where the node has no such file, or may not see it. */
const unlessOut = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work
  } catch (error) {
    if (error instanceof ToolError) return undefined
    throw error
  }
}

const open = (files: ConfinedFiles, path: string): Promise<FileHandle | undefined> => unlessOut(files.openToRead(path))

const textAt = async (files: ConfinedFiles, path: string, most: number): Promise<ProjectFile | undefined> => {
  await using file = await open(files, path)
  if (!file) return undefined
  const { size } = await file.stat()
  const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, most)), 0, Math.min(size, most), 0)
  // a character that was cut in two goes whole
  const text = new TextDecoder().decode(buffer.subarray(0, bytesRead), { stream: bytesRead < size })
  return { path, text, omitted: size - bytesRead }
}

/** From the working directory up to the root of its repository; that directory alone outside of one. */
const directoriesOf = async (files: ConfinedFiles): Promise<string[]> => {
  const found: string[] = []
  for (let at = files.cwd; found.length < highest; at = dirname(at)) {
    found.push(at)
    if (await unlessOut(files.existing(join(at, '.git')))) return found
    if (dirname(at) === at) break
  }
  return [files.cwd]
}

/**
 * What a project tells agents: `AGENTS.md` of the working directory and of those above it within its repository, or
 * `CLAUDE.md` where a directory has no such file; as far as the node may see them. The nearest is given first of the room,
 * and stands last.
 */
export const projectFilesOf = async (files: ConfinedFiles): Promise<ProjectFile[]> => {
  const found: ProjectFile[] = []
  let room = projectBytes
  for (const directory of await directoriesOf(files)) {
    for (const name of names) {
      const file = await textAt(files, join(directory, name), room)
      if (!file) continue
      if (file.text.trim() || file.omitted) found.unshift(file)
      room -= Buffer.byteLength(file.text)
      break
    }
  }
  return found
}

const firstLine = async (files: ConfinedFiles, path: string): Promise<string | undefined> => {
  const file = await textAt(files, path, 1024)
  return file?.text.split('\n', 1)[0]?.trim()
}

/** The branch that is checked out in the working directory, or the commit; undefined outside of a repository. */
export const branchOf = async (files: ConfinedFiles): Promise<string | undefined> => {
  for (const directory of await directoriesOf(files)) {
    const git = join(directory, '.git')
    // a worktree has a file there that says where its own part of the repository is
    const elsewhere = /^gitdir: (.+)$/.exec((await firstLine(files, git)) ?? '')?.[1]
    const head = await firstLine(files, join(elsewhere ?? git, 'HEAD'))
    if (head) return /^ref: refs\/heads\/(.+)$/.exec(head)?.[1] ?? `${head.slice(0, 12)} (detached)`
  }
  return undefined
}
