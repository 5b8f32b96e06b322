import type { Command } from 'commander'
import { setNeeds } from '../../access/needs.js'
import type { Shell } from '../../shell.js'
import { registerAdd } from './add.command.js'
import { registerPause, registerRemove, registerResume } from './change.command.js'
import { registerHistory } from './history.command.js'
import { registerList } from './list.command.js'
import { registerNext } from './next.command.js'
import { registerPoke } from './poke.command.js'
import { registerRun } from './run.command.js'
import { registerShow } from './show.command.js'

type Register = (cron: Command, shell: Shell) => void

export const registerCron = (program: Command, shell: Shell): void => {
  const cron = program.command('cron').description('Have something done at its time, once or again and again.')
  // to read one's own schedules takes nothing; the commands are for who may make some
  setNeeds(cron, { gate: 'svc:schedule' })
  const commands: Readonly<Record<string, readonly Register[]>> = {
    'Make and change:': [registerAdd, registerPause, registerResume, registerRun, registerRemove, registerPoke],
    'Look at them:': [registerList, registerShow, registerNext, registerHistory],
  }
  for (const [heading, registers] of Object.entries(commands)) {
    cron.commandsGroup(heading)
    for (const register of registers) register(cron, shell)
  }
}
