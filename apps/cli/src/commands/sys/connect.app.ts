import type { Access, Client, MintedToken } from '#sdk/index.js'
import { CommandError, UsageError } from '../../failure.js'
import type { Output } from '../../output/output.js'
import { exportLines } from './connect.lines.js'
import { scopesOf } from './connect.scopes.js'

export interface AppOptions {
  readonly app: string
  readonly scopes?: string
  readonly label?: string
  readonly expires?: string
}

const units = { s: 1, m: 60, h: 3600, d: 86_400 } as const

/** Seconds that a token is to live; null for ever. @throws UsageError */
export const lifetimeOf = (text: string): number | null => {
  if (text === 'never') return null
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count === undefined) throw new UsageError(`${text} is no time`, 'say 12h, 30d, or never')
  return Number(count) * units[unit as keyof typeof units]
}

/** The token itself. @throws CommandError when the answer that held it was lost */
export const shownToken = ({ id, token }: MintedToken): string => {
  if (token !== null) return token
  throw new CommandError(
    `the token ${id} was made, but the answer that held it was lost`,
    `put another in its place: \`svc sys tokens rotate ${id}\``,
  )
}

/** Mints a token for an app and prints what its programs are to be given. */
export const connectApp = async (
  client: Client,
  { app, scopes, label, expires }: AppOptions,
  out: Output,
  json: boolean,
): Promise<void> => {
  const body = {
    app,
    ...(scopes !== undefined && { scopes: scopesOf(scopes) }),
    ...(label !== undefined && { label }),
    ...(expires !== undefined && { expires_in: lifetimeOf(expires) }),
  }
  // first what can be asked twice: a token is shown once
  const { app_base_url: baseUrl } = await client.request<Access>('GET', '/v1/access')
  const minted = await client.tokens.create(body)
  const token = shownToken(minted)
  if (json) return out.json({ ...minted, base_url: baseUrl })
  out.line(exportLines(baseUrl, token))
  const list = minted.scopes === null ? 'what the grant of its app holds' : minted.scopes.join(', ') || 'nothing'
  out.note(`${minted.id} permits ${list}; it ends ${minted.expires_at ?? 'when it is revoked'}`)
}
