import type { z } from 'zod'
import { credentialInstall } from '#common/contract/index.js'

/** What a credential holds, encrypted at rest; it never leaves this service. */
export type CredentialMaterial = z.infer<typeof credentialInstall>

/** @throws ZodError when the text is not what `materialText` made. */
export const parseMaterial = (text: string): CredentialMaterial => credentialInstall.parse(JSON.parse(text))

/** Without the label, which is stored in the clear. */
export const materialText = ({ label: _label, ...material }: CredentialMaterial): string => JSON.stringify(material)

export const secretOf = (material: CredentialMaterial): string =>
  material.kind === 'api_key' ? material.api_key : material.access_token

/** Every text of it that must not show anywhere. */
export const secretsOf = (material: CredentialMaterial | undefined): string[] => {
  if (!material) return []
  if (material.kind === 'api_key') return [material.api_key]
  return [material.access_token, ...(material.refresh_token === undefined ? [] : [material.refresh_token])]
}

/** Null for a secret so short that four characters would give much of it away. */
export const lastFourOf = (material: CredentialMaterial): string | null => {
  const secret = secretOf(material)
  return secret.length >= 12 ? secret.slice(-4) : null
}
