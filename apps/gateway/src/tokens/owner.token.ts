import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Inject, Injectable } from '@nestjs/common'
import { backoff, CLOCK, type Clock, pause } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import type { Logger } from '#common/kernel/log.js'
import { ensureSecretFile, readIfPresent, writePrivateFile } from '#common/kernel/servers/private-file.js'
import { LOG } from '#common/kernel/service.js'
import { hashToken, mintToken, type ParsedToken, parseToken } from '#common/kernel/tokens.js'
import { TokenRepository, tokenIdOf } from './token.repository.js'

const fresh = (): string => mintToken('own', newId('tok').slice('tok_'.length))

const idIn = (content: string): string | undefined => {
  const parsed = parseToken(content.trim())
  return parsed ? tokenIdOf(parsed.id) : undefined
}

/** What a rename changed is durable with its directory only. */
const syncDirectory = (path: string): void => {
  const directory = openSync(path, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

/**
 * Takes the file's mode back to its owner alone; a mounted secret may refuse, and is then its mounter's to guard.
 *
 * @returns whether others could read it
 */
const tighten = (path: string, log: Logger): boolean => {
  if ((statSync(path).mode & 0o077) === 0) return false
  try {
    chmodSync(path, 0o600)
    log.warn({ path }, "others could read the owner's token; its mode is 0600 again")
  } catch (err) {
    log.warn({ err, path }, "others can read the owner's token")
  }
  return true
}

/**
 * The owner's token: a file says which one it is, the database keeps its hash.
 *
 * A missing file means a new token, and the former one is revoked; so does another token put into the file by hand. A
 * new database learns the file's token.
 */
@Injectable()
export class OwnerToken {
  constructor(
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(TokenRepository) private readonly repository: TokenRepository,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  get path(): string {
    return this.settings.SVC_OWNER_TOKEN_FILE ?? join(this.settings.SVC_DATA_DIR, 'owner.token')
  }

  /** @throws Error when the file holds no owner's token, or the database can't be reached for `attempts`. */
  async install(attempts = 20): Promise<void> {
    const { text, parsed, exposed } = this.#read()
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.repository.install({ id: tokenIdOf(parsed.id), hash: hashToken(text), exposed })
      } catch (err) {
        if (attempt >= attempts) throw err
        this.log.warn({ err }, "the owner's token can't be recorded yet")
        await pause(this.clock, 50 + backoff(attempt, 50, 1000))
      }
    }
  }

  /**
   * Puts another token into the file, so that it stays there whatever happens to the machine. To be called before the
   * rows say so: who dies between the two is taken at the file's word by the next start.
   *
   * @returns the former content.
   * @throws SvcError `file_access_denied`.
   */
  put(text: string): string {
    try {
      const former = readFileSync(this.path, 'utf8')
      writePrivateFile(this.path, `${text}\n`)
      syncDirectory(dirname(this.path))
      return former
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      const detail = `The file of the owner's token can't be replaced (${code}).`
      const remedy = 'Put a new token into the file where it comes from, and start the daemon again.'
      throw new SvcError('file_access_denied', detail, { path: this.path, remedy }, { cause })
    }
  }

  /**
   * After a `put` whose transaction failed, or may have: the file gets its former content back unless the rows took the
   * new token after all. Goes on by itself until they can be asked; a start meanwhile takes the file at its word.
   */
  settle(former: string): void {
    void this.#settle(former).catch((err: unknown) => this.log.error({ err }, "the owner's token file is not settled"))
  }

  async #settle(former: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const present = await this.repository.ownerId()
        // what somebody else put there since is not ours to take back
        const isFormer = idIn(former) === present
        if (isFormer && idIn(readFileSync(this.path, 'utf8')) !== present) this.put(former.trim())
        return
      } catch (err) {
        if (hasCode(err, 'not_leader')) return
        this.log.warn({ err }, "which token is the owner's can't be read yet")
        await pause(this.clock, 50 + backoff(attempt, 50, 5000))
      }
    }
  }

  #read(): { text: string; parsed: ParsedToken; exposed: boolean } {
    const present = readIfPresent(this.path)?.trim()
    const exposed = present !== undefined && tighten(this.path, this.log)
    if (present === undefined) mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
    const text = present ?? ensureSecretFile(this.path, fresh)
    const parsed = parseToken(text)
    if (parsed?.kind !== 'own') {
      throw new Error(`${this.path} holds no owner's token: remove it, and a new one is made at the next start`)
    }
    return { text, parsed, exposed }
  }
}
