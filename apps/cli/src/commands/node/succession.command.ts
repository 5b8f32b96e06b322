import type { Command } from 'commander'
import { textOf } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { nodeOf } from '../../node/own.node.js'
import type { Shell } from '../../shell.js'

const given = async (prompt: string | undefined): Promise<{ prompt?: string }> =>
  prompt === undefined ? {} : { prompt: await textOf(prompt, 'the prompt') }

export const registerRecycle = (node: Command, shell: Shell): void => {
  const made = command(node, 'recycle [id] [prompt]', {
    calls: ['nodes.recycle'],
    summary: 'End a root with its newest report, and have a new one take its place',
    about:
      'The new root has what the old one watched, its watchers, its children and its unread mail. Inside a node and without an id: the node itself.',
    examples: [['svc node recycle <id>', 'prints the id of the new root']],
  })
  performs(made, shell, async ({ client, out, json }, id, prompt) => {
    const old = nodeOf(id, shell)
    const answer = await (await client()).nodes.recycle(old, await given(prompt))
    if (json) return out.json(answer)
    out.line(answer.node.id)
    out.note(`takes the place of ${answer.recycled}`)
  })
}

export const registerRelaunch = (node: Command, shell: Shell): void => {
  const made = command(node, 'relaunch [id] [prompt]', {
    calls: ['nodes.relaunchRoot'],
    summary: 'Boot a new root, and let it take the place of the old one once it lives',
    about:
      'The old root is not touched before that; then what is below it is canceled, unless somebody else watches it. Inside a node and without an id: the node itself.',
    examples: [['svc node relaunch <id>', 'prints the id of the new root']],
  })
  performs(made, shell, async ({ client, out, json }, id, prompt) => {
    const old = nodeOf(id, shell)
    const answer = await (await client()).nodes.relaunchRoot(old, await given(prompt))
    if (json) return out.json(answer)
    out.line(answer.node.id)
    out.note(`boots; then it takes the place of ${answer.relaunches}: svc node show ${answer.node.id}`)
  })
}
