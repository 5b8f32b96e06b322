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

export const registerNode = (program: Command, shell: Shell): void => {
  const node = program.command('node').description('Create nodes, talk to them, watch them.')
  const commands = [
    registerNew,
    registerList,
    registerShow,
    registerWatch,
    registerAttach,
    registerKinds,
    registerMessage,
    registerYield,
    registerRevive,
    registerFork,
    registerRecycle,
    registerRelaunch,
    registerInterrupt,
    registerCancel,
    registerUpdate,
    registerPromote,
    registerDemote,
    registerRoadmap,
    ...(shell.nodeId === undefined ? [registerReviveAll] : []),
    registerOutcome,
    registerWait,
    registerFaults,
    registerRetry,
    registerReports,
    registerAttachment,
    registerJobs,
    registerJobStart,
    registerJobOutput,
    registerJobCancel,
    registerWorktreeClose,
    registerWorktreeAbandon,
    registerEvents,
    registerResult,
  ]
  for (const register of commands) register(node, shell)
}
