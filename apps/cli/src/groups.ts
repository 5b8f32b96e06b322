import type { Command } from 'commander'
import type { Shell } from './shell.js'

/** @param whole makes the tree with every group loaded, for who must know all commands */
export type Register = (program: Command, shell: Shell, whole: () => Promise<Command>) => void

export interface Group {
  readonly name: string
  readonly summary: string
  readonly load: () => Promise<Register>
}

/** Every top-level command. Only the one that is called is loaded, so that a call stays short. */
export const groups: readonly Group[] = [
  {
    name: 'sys',
    summary: 'Start, stop and look at the daemon',
    load: async () => (await import('./commands/sys/sys.group.js')).registerSys,
  },
  {
    name: 'node',
    summary: 'Create nodes, talk to them, watch them',
    load: async () => (await import('./commands/node/node.group.js')).registerNode,
  },
  {
    name: 'bash',
    summary: "Run one shell command where the daemon's host is",
    load: async () => (await import('./commands/bash.command.js')).registerBash,
  },
  {
    name: 'file',
    summary: "Read, write and list files of the daemon's machine",
    load: async () => (await import('./commands/file/file.group.js')).registerFile,
  },
  {
    name: 'canvas',
    summary: 'All nodes at once, and what they said and did',
    load: async () => (await import('./commands/canvas/canvas.group.js')).registerCanvas,
  },
  {
    name: 'human',
    summary: 'Ask a person, and answer what was asked',
    load: async () => (await import('./commands/human/human.group.js')).registerHuman,
  },
  {
    name: 'cron',
    summary: 'Have something done at its time, once or again and again',
    load: async () => (await import('./commands/cron/cron.group.js')).registerCron,
  },
  {
    name: 'custom-object',
    summary: 'What stands for something outside: events that come in, and who gets them',
    load: async () => (await import('./commands/custom-object/custom-object.group.js')).registerCustomObject,
  },
  {
    name: 'ledger',
    summary: 'What did not happen as planned, and the command that does it now',
    load: async () => (await import('./commands/ledger.command.js')).registerLedger,
  },
  {
    name: 'feed',
    summary: 'What all nodes do, as it happens',
    load: async () => (await import('./commands/feed.command.js')).registerFeed,
  },
  {
    name: 'push',
    summary: 'Publish a report, as the node that this runs in',
    load: async () => (await import('./commands/push.command.js')).registerPush,
  },
  {
    name: 'model',
    summary: 'Providers, credentials and which model serves which strength',
    load: async () => (await import('./commands/model/model.group.js')).registerModel,
  },
  {
    name: 'app',
    summary: 'Register applications, and say what each may do',
    load: async () => (await import('./commands/app/app.group.js')).registerApp,
  },
  {
    name: 'request',
    summary: 'Call any route of the daemon',
    load: async () => (await import('./commands/request.command.js')).registerRequest,
  },
  {
    name: 'completion',
    summary: 'Print the completion script of a shell',
    load: async () => (await import('./commands/completion.command.js')).registerCompletion,
  },
]
