import type { Command } from 'commander'
import { setNeeds } from '../../access/needs.js'
import type { Shell } from '../../shell.js'
import { registerAnswer } from './answer.command.js'
import { registerAsk } from './ask.command.js'
import { registerCancel, registerDismiss } from './end.command.js'
import { registerList } from './list.command.js'
import { registerShow } from './show.command.js'

export const registerHuman = (program: Command, shell: Shell): void => {
  const human = program.command('human').description('Ask a person, and answer what was asked.')
  // to read what was asked is anybody's own; the commands are for who may ask
  setNeeds(human, { gate: 'svc:act' })
  const commands = [registerAsk, registerList, registerShow, registerAnswer, registerDismiss, registerCancel]
  for (const register of commands) register(human, shell)
}
