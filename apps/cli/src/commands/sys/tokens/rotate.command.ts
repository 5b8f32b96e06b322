import type { Command } from 'commander'
import { UsageError } from '../../../failure.js'
import { command, performs } from '../../../invocation.js'
import type { Shell } from '../../../shell.js'
import { lifetimeOf, shownToken } from '../connect.app.js'

export const registerTokenRotate = (tokens: Command, shell: Shell): void => {
  const made = command(tokens, 'rotate <id>', {
    calls: ['tokens.rotate'],
    summary: 'Put a new token in the place of one, and print it this once',
    about: `The new one may do the same for as long as the old one could. Nothing that runs is stopped. The owner's own
token can be rotated too: the commands of this machine find the new one by themselves, programs that were given the old
one do not.`,
    examples: [['svc sys tokens rotate tok_… --overlap 1h', 'the old one works for an hour more']],
  }).option('--overlap <time>', 'how long the old one goes on: 10m, 1h, 7d at most; it ends at once unless given')
  performs<{ overlap?: string }>(made, shell, async ({ client, out, json, options }, id = '') => {
    const overlap = options.overlap === undefined ? 0 : lifetimeOf(options.overlap)
    if (overlap === null) throw new UsageError('the old token ends some time', 'say how long it goes on: 10m, 1h, 7d')
    const minted = await (await client()).tokens.rotate(id, { overlap })
    if (json) out.json(minted)
    const token = shownToken(minted)
    if (json) return
    out.line(token)
    out.note(`${minted.id} takes the place of ${id}${overlap > 0 ? `, which ends in ${options.overlap}` : ''}`)
  })
}
