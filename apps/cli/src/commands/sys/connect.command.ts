import type { Command } from 'commander'
import { UsageError } from '../../failure.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerConnect = (sys: Command, shell: Shell): void => {
  const made = command(sys, 'connect', {
    calls: ['system.status'],
    gate: 'machine',
    summary: "Print the daemon's address and the owner's token",
    about: 'Whoever holds the token can do everything that you can.',
    examples: [
      ['svc sys connect', 'as lines that a shell understands'],
      ['eval "$(svc sys connect)"', 'connect programs of this shell'],
      ['svc sys connect --json', '{"base_url": …, "token": …}'],
    ],
  })
  performs(made, shell, async ({ connection, client, out, json }) => {
    const { baseUrl, token } = connection()
    if (token === undefined) {
      throw new UsageError(
        'there is no token yet',
        'start the daemon with `svc sys up`: it makes one at its first start',
      )
    }
    // Says at once when the daemon is away or doesn't take this token.
    await (await client()).system.status()
    if (json) out.json({ base_url: baseUrl, token })
    else out.line(`export SVC_BASE_URL=${shellWord(baseUrl)}\nexport SVC_TOKEN=${shellWord(token)}`)
  })
}

/** As a shell takes it for one word: these lines are evaluated. */
const shellWord = (text: string): string =>
  /^[\w:./@%+=,[\]-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
