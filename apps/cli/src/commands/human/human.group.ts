import type { Command } from 'commander'
import type { Shell } from '../../shell.js'
import { registerAnswer } from './answer.command.js'
import { registerAsk } from './ask.command.js'
import { registerCancel, registerDismiss } from './end.command.js'
import { registerList } from './list.command.js'
import { registerShow } from './show.command.js'

/** Who runs inside a node asks; to answer is the person's. */
export const registerHuman = (program: Command, shell: Shell): void => {
  const human = program.command('human').description('Ask a person, and answer what was asked.')
  const commands = [
    registerAsk,
    registerList,
    registerShow,
    ...(shell.nodeId === undefined ? [registerAnswer, registerDismiss] : []),
    registerCancel,
  ]
  for (const register of commands) register(human, shell)
}
