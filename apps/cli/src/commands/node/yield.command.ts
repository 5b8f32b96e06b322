import type { Command } from 'commander'
import { textOf } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { nodeOf } from '../../node/own.node.js'
import type { Shell } from '../../shell.js'

const begins = { active: 'when its turn ends', idle: 'when it is woken' } as const

export const registerYield = (node: Command, shell: Shell): void => {
  const made = command(node, 'yield [id] [note]', {
    calls: ['nodes.yield'],
    summary: 'Give a node a fresh context, with a note to its future self',
    about:
      'Inside a node and with a note alone: the node itself. It finds its mandate, the note, its newest reports and what works for it again, and nothing of its conversation. The note "-" is read from standard input.',
    examples: [
      ['svc node yield <id> "the tests of the parser are left"', 'from outside'],
      ['svc node yield "the tests of the parser are left"', 'inside a node'],
    ],
  })
  performs(made, shell, async ({ client, out, json }, first, second) => {
    const id = nodeOf(second === undefined ? undefined : first, shell)
    const note = await textOf(second ?? first, 'the note')
    const yielded = await (await client()).nodes.yield(id, { note })
    if (json) return out.json(yielded)
    const when = yielded.intent === 'refresh' ? begins[yielded.status as keyof typeof begins] : 'now'
    out.line(`${yielded.id}  a fresh context begins ${when}`)
  })
}
