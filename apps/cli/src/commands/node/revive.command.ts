import type { Command } from 'commander'
import { textOf } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface ReviveOptions {
  readonly fresh?: boolean
}

export const registerRevive = (node: Command, shell: Shell): void => {
  const made = command(node, 'revive <id> [prompt]', {
    calls: ['nodes.revive'],
    summary: 'Bring a node back, whatever state it is in',
    about:
      'One that had ended begins a new piece of work: the prompt, or to go on with what is left. One that waits for its next try is tried now. What was canceled with it stays canceled. The prompt "-" is read from standard input.',
    examples: [
      ['svc node revive <id>', 'with its conversation'],
      ['svc node revive <id> --fresh "the second half"', 'with a new one, and something to do'],
    ],
  }).option('--fresh', 'in a fresh context, begun from what was kept')
  performs<ReviveOptions>(made, shell, async ({ client, out, json, options }, id = '', prompt) => {
    const text = prompt === undefined ? undefined : await textOf(prompt, 'the prompt')
    const answer = await (await client()).nodes.revive(id, {
      mode: options.fresh ? 'fresh' : 'resume',
      ...(text !== undefined && { prompt: text }),
    })
    if (json) return out.json(answer)
    const { node: now, revived, left_canceled } = answer
    out.line(`${now.id}  ${revived ? 'starts again' : 'is at work already'}, context ${now.context}`)
    if (left_canceled.length) out.note(`still canceled: ${left_canceled.join(' ')}`)
  })
}
