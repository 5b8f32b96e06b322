import type { Command } from 'commander'
import { command, performs } from '../../../invocation.js'
import type { Shell } from '../../../shell.js'

export const registerTokenRevoke = (tokens: Command, shell: Shell): void => {
  const made = command(tokens, 'revoke <id>', {
    calls: ['tokens.revoke'],
    summary: 'End a token: its next call is refused, its streams end within a second',
    about:
      'What runs for its app goes on: that is for the grant of the app to end. The owner’s own token is rotated instead.',
  })
  performs(made, shell, async ({ client, out, json }, id = '') => {
    await (await client()).tokens.revoke(id)
    if (json) out.json({ id, status: 'revoked' })
    else out.line(`${id} is revoked.`)
  })
}
