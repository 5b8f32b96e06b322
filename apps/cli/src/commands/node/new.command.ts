import type { Command } from 'commander'
import { UsageError } from '../../failure.js'
import { command, performs } from '../../invocation.js'
import { finishAndPrint } from '../../node/outcome.view.js'
import { watchNode } from '../../node/watch.view.js'
import type { Shell } from '../../shell.js'
import { type NewOptions, nodeBody } from './new.body.js'

export const registerNew = (node: Command, shell: Shell): void => {
  const made = command(node, 'new [prompt]', {
    calls: ['nodes.create'],
    mayCall: ['nodes.stream', 'nodes.retrieve', 'nodes.outcome'],
    summary: 'Create a node and hand it work',
    about: `The prompt "-" is read from standard input. What stands after -- is a program for the engine exec, which needs no
model and no prompt.

A node that is terminal owes a final report and then ends; one that is resident stays for more messages. From the shell
a node is terminal with --wait, with --watch and with the engine exec, since whoever waits wants an end; otherwise a root
is resident and a child terminal. --lifecycle says it yourself.`,
    examples: [
      ['svc node new --engine exec -- make test', 'run a program as a node, here'],
      ['svc node new "fix the failing test" --watch', 'watch an agent at work'],
      ['svc node new "count the files" --wait --json', 'wait, and read the outcome as JSON'],
      ['svc node new - --cwd /srv/app < task.md', 'the prompt from a file, work elsewhere'],
      ['svc node new "…" --result-schema shape.json --wait', 'ask for a typed result'],
      ['svc node new "…" --worktree --base main', 'leave this checkout alone: work on a branch of its own'],
    ],
  })
    .option('--engine <engine>', 'loop (an agent with tools) or exec (a program after --)')
    .option('--cwd <directory>', 'working directory; this one unless given')
    .option('--worktree', 'work in a git worktree of its own, on a new branch')
    .option('--branch <name>', '--worktree, with this name for the branch instead of one made of the name of the node')
    .option('--base <commit>', '--worktree, from this commit, branch or tag instead of HEAD')
    .option('--name <name>', 'name of the node')
    .option('--kind <kind>', 'role of the node, general unless given')
    .option('--mode <mode>', 'base, or orchestrator: one that mostly hands work on, and keeps a roadmap')
    .option('--parent <id>', 'node that it works for')
    .option('--root', 'a node of its own, also when a node creates it')
    .option('--lifecycle <lifecycle>', 'terminal or resident')
    .option('--strength <strength>', 'light, medium, strong or ultra')
    .option('--model <provider/model>', 'this model instead of the ladder of the strength')
    .option('--scopes <list>', 'narrower rights, separated by commas')
    .option('--result-schema <file>', 'JSON Schema of the result that the node owes')
    .option('--stdin <form>', 'exec: how the prompt arrives, jsonl or text')
    .option('--env <NAME=value...>', 'exec: environment of the program')
    .option('--wait', 'wait for the outcome and print it')
    .option('--watch', 'show the node at work until it ends')
  performs<NewOptions>(made, shell, async (call, prompt) => {
    const { out, json, options } = call
    const body = await nodeBody(prompt, options, shell.trailing, process.cwd())
    if (options.wait && options.watch) throw new UsageError('--wait and --watch exclude each other')
    const client = await call.client()
    const created = await client.nodes.create(body)
    if (!options.wait && !options.watch) {
      if (json) out.json(created)
      else out.line(created.id)
      if (!json) out.note(`watch it: svc node watch ${created.id}`)
      return
    }
    if (!json) out.note(out.paintNote('dim', created.id))
    if (options.watch) await watchNode(client, out, { id: created.id, after: '0', json })
    await finishAndPrint(client, out, { id: created.id, json, reportShown: options.watch === true })
  })
}
