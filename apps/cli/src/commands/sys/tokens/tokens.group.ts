import type { Command } from 'commander'
import type { Shell } from '../../../shell.js'
import { registerTokenList } from './list.command.js'
import { registerTokenRevoke } from './revoke.command.js'
import { registerTokenRotate } from './rotate.command.js'
import { registerTokenShow } from './show.command.js'

export const registerTokens = (sys: Command, shell: Shell): void => {
  const tokens = sys.command('tokens').description('Tokens that were given out; `svc sys connect` makes them.')
  for (const register of [registerTokenList, registerTokenShow, registerTokenRotate, registerTokenRevoke]) {
    register(tokens, shell)
  }
}
