import type { Command } from 'commander'
import type { Shell } from '../../shell.js'
import { registerPause, registerResume, registerRotate, registerUnregister } from './change.command.js'
import { registerDeliveries, registerReplay } from './deliveries.command.js'
import { registerAsyncapi, registerTypes } from './document.command.js'
import { registerEvents } from './events.command.js'
import { registerList } from './list.command.js'
import { registerPublish } from './publish.command.js'
import { registerAck, registerReceive } from './receive.command.js'
import { registerRegister } from './register.command.js'
import { registerShow } from './show.command.js'
import { registerUpdate } from './update.command.js'
import { registerUnwatch, registerWatch, registerWatchers } from './watch.command.js'

type Register = (object: Command, shell: Shell) => void

export const registerCustomObject = (program: Command, shell: Shell): void => {
  const object = program
    .command('custom-object')
    .description('What stands for something outside: events that come in, and who gets them.')
  const commands: Readonly<Record<string, readonly Register[]>> = {
    'Make and change:': [registerRegister, registerUpdate, registerRotate, registerUnregister],
    'Events in:': [registerPublish, registerEvents, registerTypes, registerAsyncapi],
    'Who gets them:': [registerWatch, registerUnwatch, registerWatchers],
    'Deliveries out:': [
      registerReceive,
      registerAck,
      registerDeliveries,
      registerReplay,
      registerPause,
      registerResume,
    ],
    'Look at them:': [registerList, registerShow],
  }
  for (const [heading, registers] of Object.entries(commands)) {
    object.commandsGroup(heading)
    for (const register of registers) register(object, shell)
  }
}
