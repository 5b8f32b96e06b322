import type { Clock } from '#common/kernel/clock.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Logger } from '#common/kernel/log.js'
import type { ConfigRepository } from '../config/config.repository.js'
import type { VersionedConfig } from '../config/config.rules.js'
import { unseal } from '../credential/credential.cipher.js'
import type { CredentialKeyring } from '../credential/credential.keyring.js'
import { parseMaterial } from '../credential/credential.material.js'
import type { CredentialRepository, StoredCredential } from '../credential/credential.repository.js'
import { type OpenCredential, obstacleOf, type Provider, providersOf } from './provider.directory.js'
import type { ProviderHealth } from './provider.health.js'

/** Everything that decides which model serves a call, as of one moment. */
export interface Providers {
  readonly config: VersionedConfig
  readonly credentials: ReadonlyMap<string, OpenCredential>
  readonly byName: ReadonlyMap<string, Provider>
}

/** Longest age in ms of what is kept; changes are announced, this is the net. */
const KEEP = 5000

/** The providers, their credentials and the config, kept in memory: a call asks the database nothing before it begins. */
export class ProviderRegistry {
  #kept: { providers: Promise<Providers>; until: number } | undefined
  #last: Providers | undefined

  constructor(
    private readonly database: Database,
    private readonly configs: ConfigRepository,
    private readonly credentials: CredentialRepository,
    private readonly keyring: CredentialKeyring,
    private readonly health: ProviderHealth,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  current(): Promise<Providers> {
    if (this.#kept && this.#kept.until > this.clock.monotonic()) return this.#kept.providers
    const providers = this.#load()
    const kept = { providers, until: this.clock.monotonic() + KEEP }
    this.#kept = kept
    providers.catch(() => {
      if (this.#kept === kept) this.#kept = undefined
    })
    return providers
  }

  /** What was kept is out of date. */
  forget(): void {
    this.#kept = undefined
  }

  /** Why a provider can't be called; null when it can. */
  obstacle({ credentials }: Providers, provider: Provider): string | null {
    return obstacleOf(provider, credentials.get(provider.name), this.clock.now())
  }

  async #load(): Promise<Providers> {
    const [config, stored] = await Promise.all([this.configs.read(this.database), this.credentials.all(this.database)])
    const credentials = new Map(stored.map((credential) => [credential.provider, this.#open(credential)]))
    const loaded = { config, credentials, byName: providersOf(config.document, credentials) }
    for (const [name, { stamp }] of loaded.byName) {
      if (this.#last && this.#last.byName.get(name)?.stamp !== stamp) this.health.forget(name)
    }
    this.#last = loaded
    return loaded
  }

  #open({ provider, sealed, updatedAt }: StoredCredential): OpenCredential {
    const key = this.keyring.find(sealed.keyId)
    if (!key) {
      this.log.error({ provider, key_id: sealed.keyId }, 'the key of a credential is missing')
      return { provider, updatedAt }
    }
    try {
      return { provider, updatedAt, material: parseMaterial(unseal(key, provider, sealed)) }
    } catch {
      // the error is not logged: a parser may quote what it read
      this.log.error({ provider, key_id: sealed.keyId }, 'a credential could not be decrypted')
      return { provider, updatedAt }
    }
  }
}
