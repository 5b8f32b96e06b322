import type { z } from 'zod'
import type { credential } from '#common/contract/index.js'
import { type Clock, isoTime } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import type { ConfigRepository } from '../config/config.repository.js'
import { isKnownProvider } from '../config/config.rules.js'
import type { ProviderHealth } from '../provider/provider.health.js'
import type { ProviderRegistry } from '../provider/provider.registry.js'
import { noticeChange } from '../session/notice.repository.js'
import { type CredentialKey, seal, unseal } from './credential.cipher.js'
import type { CredentialKeyring } from './credential.keyring.js'
import { type CredentialMaterial, lastFourOf, materialText } from './credential.material.js'
import type { CredentialRepository, StoredCredential } from './credential.repository.js'

export type Credential = z.infer<typeof credential>

const unknownProvider = (provider: string): SvcError =>
  new SvcError('not_found', `There is no provider "${provider}".`, {
    remedy: `Use openai, anthropic or google, or configure it first: \`svc model add ${provider} --base-url <url> --model <name>\`.`,
  })

/** Installs, lists and removes the credentials of providers. What they hold goes in and never comes out. */
export class CredentialService {
  constructor(
    private readonly database: Database,
    private readonly writer: Writer,
    private readonly credentials: CredentialRepository,
    private readonly configs: ConfigRepository,
    private readonly keyring: CredentialKeyring,
    private readonly registry: ProviderRegistry,
    private readonly health: ProviderHealth,
    private readonly clock: Clock,
  ) {}

  async list(): Promise<Credential[]> {
    return (await this.credentials.all(this.database)).map((stored) => this.#toCredential(stored))
  }

  /** @throws SvcError not_found for a provider that is neither built in nor configured. */
  async install(ctx: Context, provider: string, material: CredentialMaterial): Promise<Credential> {
    const stored = await this.writer.transact(ctx, async ({ tx }) => {
      const { document } = await this.configs.read(tx)
      if (!isKnownProvider(document, provider)) throw unknownProvider(provider)
      const installed = await this.credentials.put(tx, {
        provider,
        kind: material.kind,
        label: material.label ?? null,
        lastFour: lastFourOf(material),
        sealed: seal(this.keyring.current(), provider, materialText(material)),
        updatedAt: this.clock.now(),
      })
      noticeChange(tx)
      return installed
    })
    this.#changed(provider)
    return this.#toCredential(stored)
  }

  /** @throws SvcError not_found when none is installed. */
  async remove(ctx: Context, provider: string): Promise<void> {
    await this.writer.transact(ctx, async ({ tx }) => {
      if (!(await this.credentials.remove(tx, provider))) {
        throw new SvcError('not_found', `No credential is installed for "${provider}".`)
      }
      noticeChange(tx)
    })
    this.#changed(provider)
  }

  /**
   * Puts every credential under a new key. The old key stays in the key's file until all rows are committed, so that a
   * crash in between loses nothing: run it again.
   *
   * @returns how many were encrypted anew.
   * @throws Error when one can't be opened; nothing is changed then.
   */
  async rotate(ctx: Context, key: CredentialKey): Promise<number> {
    this.keyring.add(key)
    const count = await this.writer.transact(ctx, async ({ tx }) => {
      const all = await this.credentials.lockAll(tx)
      for (const { provider, sealed } of all) {
        const old = this.keyring.find(sealed.keyId)
        if (!old) throw new Error(`the key ${sealed.keyId} of the credential of ${provider} is missing`)
        this.credentials.reseal(tx, provider, seal(key, provider, unseal(old, provider, sealed)))
      }
      noticeChange(tx)
      return all.length
    })
    this.keyring.forgetOld()
    this.registry.forget()
    return count
  }

  #changed(provider: string): void {
    this.health.forget(provider)
    this.registry.forget()
  }

  #toCredential({ provider, kind, label, lastFour, createdAt, updatedAt }: StoredCredential): Credential {
    const { state, reason, checkedAt } = this.health.of(provider)
    return {
      provider,
      kind,
      label,
      last_four: lastFour,
      health: { state, reason, checked_at: checkedAt === null ? null : isoTime(checkedAt) },
      created_at: isoTime(createdAt),
      updated_at: isoTime(updatedAt),
    }
  }
}
