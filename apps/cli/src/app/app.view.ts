import type { App, Grant } from '#sdk/index.js'
import { ago } from '../clock.js'
import { facts } from '../output/table.js'

type Pairs = readonly (readonly [string, string | number | null])[]

const grantPairs = ({ scopes, profiles, version, status, updated_at }: Grant): Pairs => [
  ['grant', status === 'revoked' ? `revoked; it held ${scopes.join(' ') || 'nothing'}` : scopes.join(' ') || 'nothing'],
  ['profiles', profiles && (profiles.join(' ') || 'none')],
  ['version', `${version}, ${ago(updated_at)} ago`],
]

export const grantText = (grant: Grant): string => facts([['app', grant.app_id], ...grantPairs(grant)])

export const appText = (app: App): string =>
  facts([
    ['id', app.id],
    ['name', app.name],
    ['description', app.description],
    ['origins', app.origins.join(' ')],
    ...grantPairs(app.grant),
    ['tokens', app.tokens],
    ['created', `${app.created_at} (${ago(app.created_at)} ago)`],
    ['updated', `${app.updated_at} (${ago(app.updated_at)} ago)`],
  ])

/** The grant in a column of a list. */
export const grantWord = ({ scopes, status }: Grant): string =>
  status === 'revoked' ? 'revoked' : scopes.join(' ') || 'nothing'
