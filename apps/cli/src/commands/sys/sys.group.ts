import type { Command } from 'commander'
import type { Shell } from '../../shell.js'
import { registerAccess } from './access/access.group.js'
import { registerAudit } from './audit.command.js'
import { registerConnect } from './connect.command.js'
import { registerDoctor } from './doctor.command.js'
import { registerDown } from './down.command.js'
import { registerRetention } from './retention.command.js'
import { registerSandbox } from './sandbox.command.js'
import { registerStatus } from './status.command.js'
import { registerTokens } from './tokens/tokens.group.js'
import { registerUp } from './up.command.js'
import { registerVersion } from './version.command.js'

export const registerSys = (program: Command, shell: Shell): void => {
  const sys = program.command('sys').description('Start, stop and look at the daemon.')
  registerStatus(sys, shell)
  registerVersion(sys, shell)
  registerUp(sys, shell)
  registerDown(sys, shell)
  registerConnect(sys, shell)
  registerAccess(sys, shell)
  registerTokens(sys, shell)
  registerDoctor(sys, shell)
  registerSandbox(sys, shell)
  registerRetention(sys, shell)
  registerAudit(sys, shell)
}
