import type { FileState } from '#machine/files/file.state.js'

/** Names what a file holds: unlike its etag, it stays when only attributes of the file change, as by chmod. */
export const stampOf = ({ etag }: FileState): string => etag.slice(0, etag.lastIndexOf('-'))

const remembered = 10_000

/** Which files the node has read or written since this process took it over, and in which state. */
export class SeenFiles {
  readonly #stamps = new Map<string, string>()

  remember(path: string, state: FileState): void {
    this.#stamps.delete(path)
    this.#stamps.set(path, stampOf(state))
    // The longest unseen goes first: it has to be read again, no more.
    if (this.#stamps.size > remembered) this.#stamps.delete(this.#stamps.keys().next().value!)
  }

  /** Whether the node knows this file, in this state or in another that has passed. */
  knows(path: string, state: FileState): 'current' | 'outdated' | 'never' {
    const known = this.#stamps.get(path)
    if (known === undefined) return 'never'
    return known === stampOf(state) ? 'current' : 'outdated'
  }
}
