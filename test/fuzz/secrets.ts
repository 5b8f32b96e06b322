import { readdirSync, readFileSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestDaemon } from '../support/daemon.js'

/** A whole token of ours, whosever, or what webhooks are signed with. */
const anyToken = /\bsvc_(?:own|app|run|node|pub|rt)_[0-9a-z]{1,64}_[0-9A-Za-z]{49}|\bwhsec_[0-9A-Za-z+/]{32,}/
/** Bytes of a log that are looked at in one go; each begins a little before the end of the one before. */
const piece = 1024 * 1024
const overlap = 512

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** The part of a token that nobody may see: without its kind and id, which are no secret, and without its checksum. */
const secretOf = (text: string): string => /^svc_[a-z]+_[0-9a-z]+_([0-9A-Za-z]{43})/.exec(text)?.[1] ?? text

const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

/** What a daemon keeps to itself, and where it might have said it. */
export class Secrets {
  readonly #known = new Set<string>()
  #pattern: RegExp | undefined
  readonly #read = new Map<string, number>()

  constructor(private readonly daemon: TestDaemon) {
    const { data } = daemon
    const kept = [...filesBelow(data.secrets), ...filesBelow(join(data.path, 'keys')), join(data.path, 'owner.token')]
    for (const file of kept) this.add(readFileSync(file, 'utf8').trim())
  }

  add(...secrets: string[]): void {
    for (const secret of secrets.map(secretOf)) if (secret.length >= 12) this.#known.add(secret)
    this.#pattern = new RegExp([...this.#known].map(escaped).join('|'))
  }

  /** Answers what part of a text it is, cut short. @param minted whether the text may hold a new token */
  in(text: string, minted = false): string | undefined {
    const found = this.#pattern?.exec(text) ?? (minted ? null : anyToken.exec(text))
    return found ? `${found[0].slice(0, 12)}…` : undefined
  }

  /** Everything that was written to the logs since the last look. */
  async inLogs(): Promise<string[]> {
    const found: string[] = []
    for (const file of filesBelow(this.daemon.data.log)) {
      const secret = await this.#inFile(file)
      if (secret) found.push(`${file} holds ${secret}`)
    }
    return found
  }

  async #inFile(file: string): Promise<string | undefined> {
    const handle = await open(file)
    try {
      const { size } = statSync(file)
      const before = this.#read.get(file) ?? 0
      this.#read.set(file, size)
      for (let at = Math.max(0, before > size ? 0 : before - overlap); at < size; at += piece - overlap) {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(piece), 0, piece, at)
        const secret = this.in(buffer.toString('latin1', 0, bytesRead))
        if (secret) return secret
      }
      return undefined
    } finally {
      await handle.close()
    }
  }
}
