import type { Command } from 'commander'
import type { Shell } from '../../shell.js'
import { registerAdd } from './add.command.js'
import { registerGrant } from './grant.command.js'
import { registerList } from './list.command.js'
import { registerRemove } from './remove.command.js'
import { registerRevoke } from './revoke.command.js'
import { registerSet } from './set.command.js'
import { registerShow } from './show.command.js'

export const registerApp = (program: Command, shell: Shell): void => {
  const app = program.command('app').description('Register applications, and say what each may do.')
  for (const register of [
    registerAdd,
    registerList,
    registerShow,
    registerSet,
    registerGrant,
    registerRevoke,
    registerRemove,
  ])
    register(app, shell)
}
