import type { Command } from 'commander'
import type { Shell } from '../../../shell.js'
import { registerAccessClose } from './close.command.js'
import { registerAccessList } from './list.command.js'

export const registerAccess = (sys: Command, shell: Shell): void => {
  const access = sys.command('access').description('What the owner’s API was opened to; `svc sys connect` opens it.')
  for (const register of [registerAccessList, registerAccessClose]) register(access, shell)
}
