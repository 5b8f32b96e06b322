import type { Command } from 'commander'
import { cronTable } from '../../cron/cron.view.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerPause = (cron: Command, shell: Shell): void => {
  const made = command(cron, 'pause <id>', {
    calls: ['crons.pause'],
    summary: 'Fire none of its slots for now; what it has begun goes on',
  })
  performs(made, shell, async ({ client, out, json }, id = '') => {
    const paused = await (await client()).crons.pause(id)
    if (json) out.json(paused)
    else out.line(cronTable([paused]))
  })
}

export const registerResume = (cron: Command, shell: Shell): void => {
  const made = command(cron, 'resume <id>', {
    calls: ['crons.resume'],
    summary: 'Go on from now; slots that passed meanwhile are not made up for',
  })
  performs(made, shell, async ({ client, out, json }, id = '') => {
    const resumed = await (await client()).crons.resume(id)
    if (json) out.json(resumed)
    else out.line(cronTable([resumed]))
  })
}

export const registerRemove = (cron: Command, shell: Shell): void => {
  const made = command(cron, 'rm <id>', {
    calls: ['crons.delete'],
    summary: 'Delete it; what it has begun goes on',
  })
  performs(made, shell, async ({ client, out, json }, id = '') => {
    const answer = await (await client()).crons.delete(id)
    if (json) out.json(answer)
    else out.line(answer.deleted ? `${id}  deleted` : `${id}  was deleted before`)
  })
}
