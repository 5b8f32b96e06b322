import type { ModelConfigDocument, providerTypes } from '#common/contract/index.js'
import { builtInProviders, isBuiltIn } from '../config/config.defaults.js'
import type { CredentialMaterial } from '../credential/credential.material.js'

export type ProviderType = (typeof providerTypes)[number]

/** A provider as it can be called now. */
export interface Provider {
  readonly name: string
  readonly type: ProviderType
  readonly baseUrl?: string
  readonly requiresKey: boolean
  readonly material?: CredentialMaterial
  /** Changes whenever anything of it changes. */
  readonly stamp: string
}

/** What is stored of a credential, opened. `material` is missing when its key is lost. */
export interface OpenCredential {
  readonly provider: string
  readonly material?: CredentialMaterial
  readonly updatedAt: number
}

/** All providers that have a name: the configured ones and the built-in types. */
export const providersOf = (
  document: ModelConfigDocument,
  credentials: ReadonlyMap<string, OpenCredential>,
): Map<string, Provider> => {
  const names = [...new Set([...builtInProviders, ...Object.keys(document.providers)])]
  return new Map(
    names.map((name) => {
      const config = document.providers[name]
      const type = config?.type ?? (isBuiltIn(name) ? name : 'openai-compatible')
      const credential = credentials.get(name)
      const provider: Provider = {
        name,
        type,
        ...(config?.base_url !== undefined && { baseUrl: config.base_url.replace(/\/+$/, '') }),
        requiresKey: config?.requires_key ?? type !== 'openai-compatible',
        ...(credential?.material && { material: credential.material }),
        stamp: JSON.stringify([type, config?.base_url, credential?.updatedAt]),
      }
      return [name, provider]
    }),
  )
}

/** Why a provider can't be called at all; null when it can. */
export const obstacleOf = (provider: Provider, credential: OpenCredential | undefined, now: number): string | null => {
  if (credential && !credential.material) return 'the key that its credential was encrypted with is missing'
  if (provider.requiresKey && !provider.material) return 'no credential is installed'
  const { material } = provider
  if (material?.kind === 'oauth' && material.expires_at !== undefined && Date.parse(material.expires_at) <= now) {
    return `its OAuth token expired at ${material.expires_at}`
  }
  return null
}
