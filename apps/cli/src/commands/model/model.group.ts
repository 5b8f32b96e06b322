import type { Command } from 'commander'
import type { Shell } from '../../shell.js'
import { registerAdd } from './add.command.js'
import { registerConfig } from './config.command.js'
import { registerList } from './list.command.js'
import { registerRemove } from './remove.command.js'
import { registerStatus } from './status.command.js'

export const registerModel = (program: Command, shell: Shell): void => {
  const model = program.command('model', { hidden: shell.nodeId !== undefined })
  model.description('Providers, credentials and which model serves which strength.')
  for (const register of [registerAdd, registerList, registerRemove, registerStatus, registerConfig])
    register(model, shell)
}
