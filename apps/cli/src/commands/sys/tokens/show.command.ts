import type { Command } from 'commander'
import { command, performs } from '../../../invocation.js'
import { facts } from '../../../output/table.js'
import type { Shell } from '../../../shell.js'

export const registerTokenShow = (tokens: Command, shell: Shell): void => {
  const made = command(tokens, 'show <id>', {
    calls: ['tokens.retrieve'],
    summary: 'What is known of a token; never the token itself',
  })
  performs(made, shell, async ({ client, out, json }, id = '') => {
    const token = await (await client()).tokens.retrieve(id)
    if (json) return out.json(token)
    const { scopes } = token
    out.line(
      facts([
        ['id', token.id],
        ['kind', token.kind],
        ['status', token.status],
        ['label', token.label],
        ['app', token.app_id],
        ['profile', token.profile],
        ['scopes', scopes === null ? 'what the grant of its app holds' : scopes.join(', ') || 'none'],
        ['created', token.created_at],
        ['ends', token.expires_at ?? 'never'],
        ['last used', token.last_used_at ?? 'never'],
        ['revoked', token.revoked_at],
        ['in the place of', token.rotated_from],
      ]),
    )
  })
}
