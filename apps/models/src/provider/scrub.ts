const patterns = [
  /\b(?:sk|pk|rk|gsk|xai)-[A-Za-z0-9_*.-]{4,}/g,
  /\bAIza[A-Za-z0-9_-]{8,}/g,
  /\bya29\.[A-Za-z0-9_.-]{8,}/g,
  /\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}/gi,
  /([?&](?:key|api_key|token|access_token)=)[^&\s"']+/gi,
  /\bsvc_(?:own|app|run|node|pub|rt)_[0-9A-Za-z_]{20,}/g,
  /\/\/[^/\s:@]+:[^/\s@]+@/g,
]

const longest = 1000

/** A provider's text without what may be a secret, at most 1,000 characters. */
export const scrub = (text: string, secrets: readonly string[] = []): string => {
  let clean = text
  for (const secret of secrets) if (secret.length >= 4) clean = clean.replaceAll(secret, '[secret]')
  for (const pattern of patterns)
    clean = clean.replace(pattern, (_match, kept: unknown) => `${typeof kept === 'string' ? kept : ''}[secret]`)
  return clean.length > longest ? `${clean.slice(0, longest)}…` : clean
}
