import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Job } from '#sdk/index.js'
import { UsageError } from '../../failure.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerJobStart = (node: Command, shell: Shell): void => {
  const made = command(node, 'job-start <id>', {
    calls: ['nodes.jobs.start'],
    summary: 'Start a command of a node in the background',
    about:
      'The command stands after --: words as they are, or one text for a shell. It runs in the sandbox of the node, also while the node rests, and its end wakes the node, if that is an agent.',
    examples: [
      ['svc node job-start <id> -- npm test', 'words of one command'],
      ["svc node job-start <id> -- 'make && make check'", 'a text for bash'],
    ],
  }).option('--cwd <directory>', "working directory, from here if relative; the node's unless given")
  performs<{ cwd?: string }>(made, shell, async ({ client, out, json, options }, id = '') => {
    const [first, ...others] = shell.trailing
    if (!first && others.length === 0)
      throw new UsageError('no command is given', `svc node job-start ${id || '<id>'} -- npm test`)
    const text = others.length ? shell.trailing.map(quoted).join(' ') : first
    const svc = await client()
    const job = await svc.request<Job>('POST', `/v1/nodes/${encodeURIComponent(id)}/jobs`, {
      command: text,
      ...(options.cwd && { cwd: resolve(options.cwd) }),
    })
    if (json) return out.json(job)
    out.line(job.id)
    out.note(`read its output: svc node job-output ${id} ${job.id} --follow`)
  })
}

/** A word as bash reads it back. */
const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
