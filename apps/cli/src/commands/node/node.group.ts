import type { Command } from 'commander'
import type { Shell } from '../../shell.js'
import { registerAttach } from './attach.command.js'
import { registerAttachment } from './attachment.command.js'
import { registerCancel } from './cancel.command.js'
import { registerEvents } from './events.command.js'
import { registerFaults } from './faults.command.js'
import { registerFork } from './fork.command.js'
import { registerInterrupt } from './interrupt.command.js'
import { registerJobCancel, registerJobs } from './jobs.command.js'
import { registerJobOutput } from './jobs-output.command.js'
import { registerJobStart } from './jobs-start.command.js'
import { registerKinds } from './kinds.command.js'
import { registerList } from './list.command.js'
import { registerMessage } from './message.command.js'
import { registerNew } from './new.command.js'
import { registerOutcome } from './outcome.command.js'
import { registerDemote, registerPromote } from './promote.command.js'
import { registerReports } from './reports.command.js'
import { registerResult } from './result.command.js'
import { registerRetry } from './retry.command.js'
import { registerRevive } from './revive.command.js'
import { registerReviveAll } from './revive-all.command.js'
import { registerRoadmap } from './roadmap.command.js'
import { registerShow } from './show.command.js'
import { registerRecycle, registerRelaunch } from './succession.command.js'
import { registerUpdate } from './update.command.js'
import { registerWait } from './wait.command.js'
import { registerWatch } from './watch.command.js'
import { registerWorktreeAbandon, registerWorktreeClose } from './worktree.command.js'
import { registerYield } from './yield.command.js'

type Register = (node: Command, shell: Shell) => void

export const registerNode = (program: Command, shell: Shell): void => {
  const node = program.command('node').description('Create nodes, talk to them, watch them.')
  const commands: Readonly<Record<string, readonly Register[]>> = {
    'Work with a node:': [
      registerNew,
      registerList,
      registerShow,
      registerWatch,
      registerAttach,
      registerMessage,
      registerInterrupt,
      registerWait,
      registerOutcome,
      registerCancel,
    ],
    'What it said and did:': [registerReports, registerEvents, registerAttachment, registerResult],
    'Change its course:': [
      registerYield,
      registerFork,
      registerRevive,
      registerReviveAll,
      registerRetry,
      registerFaults,
      registerRecycle,
      registerRelaunch,
    ],
    'Change what it is:': [registerKinds, registerUpdate, registerPromote, registerDemote, registerRoadmap],
    'Jobs and worktrees:': [
      registerJobs,
      registerJobStart,
      registerJobOutput,
      registerJobCancel,
      registerWorktreeClose,
      registerWorktreeAbandon,
    ],
  }
  for (const [heading, registers] of Object.entries(commands)) {
    node.commandsGroup(heading)
    for (const register of registers) register(node, shell)
  }
}
