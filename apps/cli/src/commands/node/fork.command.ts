import type { Command } from 'commander'
import type { NodesForkBody } from '#sdk/index.js'
import { textOf, wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface ForkOptions {
  readonly turn?: number
  readonly name?: string
  readonly lifecycle?: 'terminal' | 'resident'
  readonly parent?: string
  readonly root?: boolean
  readonly model?: string
  readonly strength?: 'light' | 'medium' | 'strong' | 'ultra'
}

export const registerFork = (node: Command, shell: Shell): void => {
  const made = command(node, 'fork <id> [prompt]', {
    calls: ['nodes.fork'],
    summary: 'Copy the conversation of a node to a new node',
    about:
      'The source goes on untouched. Without a prompt the copy rests until it is written to. The prompt "-" is read from standard input.',
    examples: [
      ['svc node fork <id> "try it with the other library"', 'from its newest turn that has ended'],
      ['svc node fork <id> --turn 3', 'as it was after its third turn'],
    ],
  })
    .option('--turn <number>', 'the last turn of the copy', wholeNumber)
    .option('--name <name>', 'name of the copy')
    .option('--lifecycle <lifecycle>', 'terminal or resident')
    .option('--parent <id>', 'node that it works for; the parent of its source unless given')
    .option('--root', 'a node of its own')
    .option('--strength <strength>', 'light, medium, strong or ultra')
    .option('--model <provider/model>', 'this model instead of the ladder of the strength')
  performs<ForkOptions>(made, shell, async ({ client, out, json, options }, id = '', prompt) => {
    const { turn, name, lifecycle, parent, root, model, strength } = options
    const body: NodesForkBody = {
      ...(turn !== undefined && { turn }),
      ...(prompt !== undefined && { prompt: await textOf(prompt, 'the prompt') }),
      ...(name !== undefined && { name }),
      ...(lifecycle !== undefined && { lifecycle }),
      ...(parent !== undefined && { parent_id: parent }),
      ...(root && { root }),
      ...((model ?? strength) !== undefined && {
        model: { ...(strength && { strength }), ...(model && { override: model }) },
      }),
    }
    const copy = await (await client()).nodes.fork(id, body)
    if (json) return out.json(copy)
    out.line(copy.id)
    out.note(`a copy of ${id} after its turn ${copy.forked_from?.turn}, ${copy.status}`)
  })
}
