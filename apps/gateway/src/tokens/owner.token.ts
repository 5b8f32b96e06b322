import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Inject, Injectable } from '@nestjs/common'
import { backoff, CLOCK, type Clock, pause } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import { newId } from '#common/kernel/ids.js'
import type { Logger } from '#common/kernel/log.js'
import { ensureSecretFile, readIfPresent } from '#common/kernel/servers/private-file.js'
import { LOG } from '#common/kernel/service.js'
import { hashToken, mintToken, type ParsedToken, parseToken } from '#common/kernel/tokens.js'
import { TokenRepository, tokenIdOf } from './token.repository.js'

const fresh = (): string => mintToken('own', newId('tok').slice('tok_'.length))

/** Takes the file's mode back to its owner alone; a mounted secret may refuse, and is then its mounter's to guard. */
const tighten = (path: string, log: Logger): void => {
  if ((statSync(path).mode & 0o077) === 0) return
  try {
    chmodSync(path, 0o600)
    log.warn({ path }, "others could read the owner's token; its mode is 0600 again")
  } catch (err) {
    log.warn({ err, path }, "others can read the owner's token")
  }
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
    const token = this.#read()
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.repository.install({ id: tokenIdOf(token.parsed.id), hash: hashToken(token.text) })
      } catch (err) {
        if (attempt >= attempts) throw err
        this.log.warn({ err }, "the owner's token can't be recorded yet")
        await pause(this.clock, 50 + backoff(attempt, 50, 1000))
      }
    }
  }

  #read(): { text: string; parsed: ParsedToken } {
    const present = readIfPresent(this.path)?.trim()
    if (present !== undefined) tighten(this.path, this.log)
    else mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
    const text = present ?? ensureSecretFile(this.path, fresh)
    const parsed = parseToken(text)
    if (parsed?.kind !== 'own') {
      throw new Error(`${this.path} holds no owner's token: remove it, and a new one is made at the next start`)
    }
    return { text, parsed }
  }
}
