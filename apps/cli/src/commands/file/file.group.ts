import type { Command } from 'commander'
import type { Shell } from '../../shell.js'
import { registerList } from './list.command.js'
import { registerRead } from './read.command.js'
import { registerWrite } from './write.command.js'

export const registerFile = (program: Command, shell: Shell): void => {
  const file = program.command('file')
  file.description("Read, write and list files of the daemon's machine.")
  for (const register of [registerRead, registerWrite, registerList]) register(file, shell)
}
