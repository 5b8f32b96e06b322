import { join } from 'node:path'
import { z } from 'zod'
import { SvcError } from '#common/kernel/errors.js'
import { readIfPresent, writePrivateFile } from '#common/kernel/servers/private-file.js'
import { realPath } from './real.paths.js'

const places = z.record(z.string(), z.string())

/**
 * Where the directories of a node really were when they were first looked at. A node that may write above one of them
 * could put a link in its place, and be shown another directory at its next launch.
 */
export class NodePlaces {
  readonly #file: string
  readonly #known: Record<string, string>
  #changed = false

  /** @param root the node's directory, which its programs never see */
  constructor(root: string) {
    this.#file = join(root, 'places.json')
    const text = readIfPresent(this.#file)
    this.#known = text === undefined ? {} : places.parse(JSON.parse(text))
  }

  /**
   * Where a directory is; undefined while it is missing.
   *
   * @throws SvcError `path_outside_scope` when its name leads somewhere else than at first.
   */
  async of(name: string): Promise<string | undefined> {
    const now = await realPath(name)
    const first = this.#known[name]
    if (now === undefined) return undefined
    if (first === undefined) {
      this.#known[name] = now
      this.#changed = true
    } else if (first !== now) {
      const message = `${name} leads to ${now}; when the node was first launched it led to ${first}`
      throw new SvcError('path_outside_scope', message, { path: name })
    }
    return now
  }

  /** What was found under a name that is no path when it was first looked for; nothing, when it is another one now. */
  settle(name: string, found: string | undefined): string | undefined {
    const first = this.#known[name]
    if (first === undefined) {
      this.#known[name] = found ?? ''
      this.#changed = true
    }
    return first === undefined || first === found ? found : undefined
  }

  keep(): void {
    if (this.#changed) writePrivateFile(this.#file, `${JSON.stringify(this.#known)}\n`)
    this.#changed = false
  }
}
