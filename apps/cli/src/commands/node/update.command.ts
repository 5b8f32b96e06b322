import type { Command } from 'commander'
import type { NodeUpdate } from '#sdk/index.js'
import { UsageError } from '../../failure.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { roleLine } from '../../node/role.line.js'
import type { Shell } from '../../shell.js'

interface UpdateOptions {
  readonly name?: string
  readonly description?: string
  readonly strength?: string
  readonly model?: string
  readonly lifecycle?: string
  readonly ifMatch?: number
}

export const registerUpdate = (node: Command, shell: Shell): void => {
  const made = command(node, 'update <id>', {
    calls: ['nodes.update'],
    summary: 'Change the name, description, model or lifecycle of a node',
    about: 'A node at work goes on with it from its next step. One that becomes terminal owes a final report.',
    examples: [
      ['svc node update <id> --name "the tests"', 'another name'],
      ['svc node update <id> --strength strong', 'a stronger model from its next step on'],
      ['svc node update <id> --description ""', 'no description'],
    ],
  })
    .option('--name <name>', 'its name')
    .option('--description <text>', 'what it is for, in a few words; empty for none')
    .option('--strength <strength>', 'light, medium, strong or ultra')
    .option('--model <provider/model>', 'this model instead of the ladder')
    .option('--lifecycle <lifecycle>', 'terminal or resident')
    .option('--if-match <version>', 'only if it is at this version', wholeNumber)
  performs<UpdateOptions>(made, shell, async ({ client, out, json, options }, id = '') => {
    const body = bodyOf(options)
    const updated = await (await client()).nodes.update(id, body)
    if (json) out.json(updated)
    else out.line(roleLine(updated))
  })
}

const bodyOf = ({ name, description, strength, model, lifecycle, ifMatch }: UpdateOptions): NodeUpdate => {
  const changes = {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description: description || null }),
    ...((strength ?? model) !== undefined && {
      model: { ...(strength !== undefined && { strength }), ...(model !== undefined && { override: model }) },
    }),
    ...(lifecycle !== undefined && { lifecycle }),
  }
  if (Object.keys(changes).length === 0) {
    throw new UsageError(
      'there is nothing to change',
      'say what: --name, --description, --strength, --model, --lifecycle',
    )
  }
  return { ...changes, ...(ifMatch !== undefined && { if_match: ifMatch }) } as NodeUpdate
}
