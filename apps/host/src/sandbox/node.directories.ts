import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '#common/kernel/clock.js'

/** What a node has on this machine's disk for itself. */
export interface NodeDirectories {
  readonly root: string
  readonly home: string
  readonly temporary: string
  /** Long outputs of its commands; written by the broker, read by the node. */
  readonly scratch: string
}

export class NodeDirectoryStore {
  /** @param path `nodes` in the data directory */
  constructor(
    readonly path: string,
    private readonly clock: Clock,
  ) {}

  of(nodeId: string): NodeDirectories {
    const root = join(this.path, nodeId)
    return { root, home: join(root, 'home'), temporary: join(root, 'tmp'), scratch: join(root, 'scratch') }
  }

  /** Makes what is missing, and notes that the node was here. @param gitConfig for its `~/.gitconfig`, unless it has one */
  async prepare(nodeId: string, gitConfig: string): Promise<NodeDirectories> {
    const directories = this.of(nodeId)
    const { root, home, temporary, scratch } = directories
    await mkdir(root, { recursive: true, mode: 0o700 })
    await Promise.all([home, temporary, scratch].map((path) => mkdir(path, { recursive: true, mode: 0o700 })))
    await writeFile(join(home, '.gitconfig'), gitConfig, { flag: 'wx', mode: 0o600 }).catch(unlessThere)
    const now = this.clock.now() / 1000
    await utimes(root, now, now)
    return directories
  }

  /** Nodes that were not here for this long. */
  async forgotten(keepMs: number): Promise<string[]> {
    const names = await readdir(this.path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    const oldest = this.clock.now() - keepMs
    const found: string[] = []
    for (const name of names) {
      if (name.startsWith('.removed-')) await rm(join(this.path, name), { recursive: true, force: true })
      else if ((await stat(join(this.path, name))).mtimeMs < oldest) found.push(name)
    }
    return found
  }

  /** Out of the way at once, so that a node which comes back meanwhile is given new ones. */
  async remove(nodeId: string): Promise<void> {
    const aside = join(this.path, `.removed-${nodeId}`)
    await rm(aside, { recursive: true, force: true })
    await rename(this.of(nodeId).root, aside)
    await rm(aside, { recursive: true, force: true })
  }
}

const unlessThere = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EEXIST') throw error
}
