import type { Command } from 'commander'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerPoke = (cron: Command, shell: Shell): void => {
  const made = command(cron, 'poke', {
    calls: ['crons.poke'],
    summary: 'Set every timer anew, and fire all that is due; it happens by itself too',
  })
  performs(made, shell, async ({ client, out, json }) => {
    const answer = await (await client()).crons.poke({ timeout: 60_000 })
    if (json) out.json(answer)
    else out.line(`${answer.armed} timers set, ${answer.due} schedules were due`)
  })
}
