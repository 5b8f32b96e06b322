import type { Command } from 'commander'
import type { Shell } from '../../shell.js'
import { registerAttention } from './attention.command.js'
import { registerGrep } from './grep.command.js'
import { registerPrune } from './prune.command.js'
import { registerRead } from './read.command.js'
import { registerRoster } from './roster.command.js'
import { registerSearch } from './search.command.js'
import { registerSnapshot } from './snapshot.command.js'
import { registerStats } from './stats.command.js'
import { registerTree } from './tree.command.js'
import { registerUnwatch, registerWatch, registerWatches } from './watch.command.js'

export const registerCanvas = (program: Command, shell: Shell): void => {
  const canvas = program.command('canvas').description('All nodes at once, and what they said and did.')
  const commands = [
    registerRoster,
    registerTree,
    registerSnapshot,
    registerAttention,
    registerSearch,
    registerGrep,
    registerRead,
    registerStats,
    registerWatch,
    registerUnwatch,
    registerWatches,
    registerPrune,
  ]
  for (const register of commands) register(canvas, shell)
}
