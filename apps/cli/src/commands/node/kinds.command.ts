import type { Command } from 'commander'
import type { Kind } from '#sdk/generated/types.js'
import { command, performs } from '../../invocation.js'
import { table } from '../../output/table.js'
import type { Shell } from '../../shell.js'

export const registerKinds = (node: Command, shell: Shell): void => {
  const made = command(node, 'kinds', {
    calls: ['kinds.list'],
    summary: 'List the kinds that a node may have',
    about: `A kind is a role: it says what the agent is told of its work, and how strong a model it gets unless you say so.
You add your own as files: personas/<kind>.md in the data directory, or where SVC_PERSONAS_DIR says.`,
    examples: [['svc node new "look for leaks" --kind review', 'a node of this kind']],
  })
  performs(made, shell, async ({ client, out, json }) => {
    const { data } = await (await client()).request<{ data: Kind[] }>('GET', '/v1/kinds')
    if (json) out.json({ data })
    else out.line(tableOf(data))
  })
}

const tableOf = (kinds: readonly Kind[]): string =>
  table(
    ['KIND', 'STRENGTH', 'MODE', 'LIFECYCLE', 'FROM', 'WHAT IT IS'],
    kinds.map(({ kind, strength, mode, lifecycle, source, description, fault }) => [
      kind,
      strength ?? '',
      mode ?? '',
      lifecycle ?? '',
      source === 'persona' ? 'persona' : 'built in',
      fault === null ? description : `can't be used: ${fault}`,
    ]),
  )
