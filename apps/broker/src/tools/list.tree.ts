import { join } from 'node:path'
import type { DirectoryEntry, DirectoryPage } from '#machine/files/file.list.js'
import { textOf } from '#machine/files/path.bytes.js'
import type { ConfinedFiles } from './confined.path.js'
import { IgnoreRules, type Ignoring, ignoreFiles } from './search.ignore.js'
import { skipped } from './search.query.js'

/** Entries of one answer, and of one directory below the one that was asked for. */
const entriesAtMost = 1000
const nestedAtMost = 100
const ignoreBytes = 256 * 1024

interface TreeRequest {
  readonly path: string
  readonly depth: number
  readonly signal: AbortSignal
}

/** A directory as the lines of a tree. */
export class ListedTree {
  readonly #lines: string[] = []
  readonly #skipped = skipped(false)

  constructor(
    private readonly files: ConfinedFiles,
    private readonly request: TreeRequest,
  ) {}

  /** @throws ToolError when the directory can't be listed; the signal's reason */
  async lines(): Promise<string[]> {
    const { path, signal } = this.request
    const page = await this.files.list(path, { limit: entriesAtMost, signal })
    await this.#add(page, { base: '', rules: await this.#rulesOf(path, '', undefined), level: 1 })
    return this.#lines
  }

  async #add(page: DirectoryPage, at: { base: string; rules: Ignoring | undefined; level: number }): Promise<void> {
    const { base, rules, level } = at
    const indent = '  '.repeat(level - 1)
    const shown = page.entries.slice(0, entriesAtMost - this.#lines.length)
    for (const entry of shown) {
      const name = textOf(entry.name)
      const path = base + name
      const isDirectory = entry.type === 'directory'
      const isLeftOut = this.#skipped.includes(name) || rules?.ignores(path, isDirectory) === true
      this.#lines.push(`${indent}${described(entry, name)}${isLeftOut ? '  (ignored)' : ''}`)
      if (isDirectory && !isLeftOut && level < this.request.depth) await this.#nested(path, rules, level + 1)
    }
    if (shown.length === page.entries.length && page.next === undefined) return
    const how = base ? `list ${join(this.request.path, base)} by itself, or find them with glob` : 'find them with glob'
    this.#lines.push(`${indent}[… more entries: ${how} …]`)
  }

  async #nested(path: string, above: Ignoring | undefined, level: number): Promise<void> {
    this.request.signal.throwIfAborted()
    if (this.#lines.length >= entriesAtMost) return
    const directory = join(this.request.path, path)
    let page: DirectoryPage
    try {
      page = await this.files.list(directory, { limit: nestedAtMost, signal: this.request.signal })
    } catch (error) {
      this.request.signal.throwIfAborted()
      this.#lines.push(`${'  '.repeat(level - 1)}[${(error as Error).message}]`)
      return
    }
    const rules = await this.#rulesOf(directory, `${path}/`, above)
    await this.#add(page, { base: `${path}/`, rules, level })
  }

  async #rulesOf(directory: string, base: string, above: Ignoring | undefined): Promise<Ignoring | undefined> {
    const texts = await Promise.all(ignoreFiles.map((name) => this.#textOf(join(directory, name))))
    const found = texts.filter((text) => text !== undefined)
    return found.length ? new IgnoreRules(base, found, above) : above
  }

  async #textOf(path: string): Promise<string | undefined> {
    try {
      await using file = await this.files.openToRead(path)
      const { buffer, bytesRead } = await file.read(Buffer.alloc(ignoreBytes), 0, ignoreBytes, 0)
      return buffer.subarray(0, bytesRead).toString('utf8')
    } catch {
      // There is none, or none that may be read: nothing is ignored by it.
      return undefined
    }
  }
}

const described = ({ type, size, target }: DirectoryEntry, name: string): string => {
  switch (type) {
    case 'directory':
      return `${name}/`
    case 'symlink':
      return `${name} -> ${target === undefined ? '?' : textOf(target)}`
    case 'file':
      return `${name}  ${size}`
    case 'other':
      return `${name}  (special)`
  }
}
