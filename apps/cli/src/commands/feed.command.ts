import type { Command } from 'commander'
import { addFeedFlags, type FeedFlags, followFeed } from '../feed/feed.follow.js'
import { command, performs } from '../invocation.js'
import type { Shell } from '../shell.js'

export const registerFeed = (program: Command, shell: Shell): void => {
  const made = command(program, 'feed', {
    calls: ['canvas.events'],
    mayCall: ['nodes.retrieve'],
    summary: 'What all nodes do, as it happens',
    about: 'It waits out a daemon that restarts, and leaves nothing out. Ctrl-C ends it.',
    examples: [
      ['svc feed', 'from now on'],
      ['svc feed --since 1h --types report.*,node.dead', 'reports and failures of the last hour, and what comes'],
      ['svc feed --under <id> --json', 'a node and those below it, one event a line'],
    ],
  })
  performs<FeedFlags>(addFeedFlags(made), shell, followFeed)
}
