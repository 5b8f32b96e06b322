import { createHash } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { privateDirectory } from '#common/kernel/servers/data-directory.js'
import type { HostPlace } from '../host.place.js'

/** A name that fits behind any data directory that a socket of the daemon's servers fits behind. */
const digest = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length)

/**
 * Where brokers open sockets for viewers: a 0700 directory of the data directory, which no program of a node sees.
 * A path holds no more than 107 bytes, hence the short names.
 */
export class ViewerSockets {
  readonly #directory: string
  readonly #prefix: string

  constructor({ data, hostId }: Pick<HostPlace, 'data' | 'hostId'>) {
    this.#directory = join(data.sockets, 'v')
    this.#prefix = digest(hostId, 4)
  }

  /** Makes the directory; what an earlier start of this host left is removed. */
  clear(): void {
    privateDirectory(this.#directory)
    for (const name of readdirSync(this.#directory)) {
      if (name.startsWith(this.#prefix)) rmSync(join(this.#directory, name), { force: true })
    }
  }

  pathOf(nodeId: string, generation: number): string {
    return join(this.#directory, this.#prefix + digest(`${nodeId}.${generation}`, 12))
  }

  /** A broker removes its own; one that was killed could not. */
  remove(nodeId: string, generation: number): void {
    rmSync(this.pathOf(nodeId, generation), { force: true })
  }
}
