import type { Command } from 'commander'
import type { Promotion } from '#sdk/index.js'
import { UsageError } from '../../failure.js'
import { textOf } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { nodeOf } from '../../node/own.node.js'
import { roleLine } from '../../node/role.line.js'
import type { Shell } from '../../shell.js'

interface PromoteOptions {
  readonly kind?: string
  readonly strength?: string
  readonly resident?: boolean
  readonly terminal?: boolean
  readonly roadmap?: string
}

export const registerPromote = (node: Command, shell: Shell): void => {
  const made = command(node, 'promote [id]', {
    calls: ['nodes.promote'],
    summary: 'Make a node an orchestrator, with a roadmap of its own',
    about: 'Inside a node it is this node unless another is named.',
    examples: [
      ['svc node promote <id> --strength strong --resident', 'with a stronger model, to stay'],
      ['svc node promote <id> --roadmap - < plan.md', 'with a roadmap that is written already'],
    ],
  })
    .option('--kind <kind>', 'its role from now on')
    .option('--strength <strength>', 'light, medium, strong or ultra')
    .option('--resident', 'it stays between messages')
    .option('--terminal', 'it owes a final report')
    .option('--roadmap <text>', 'its roadmap; - reads it from standard input')
  performs<PromoteOptions>(made, shell, async ({ client, out, json, options }, id) => {
    const { kind, strength, resident, terminal, roadmap } = options
    if (resident && terminal) throw new UsageError('--resident and --terminal exclude each other')
    const body = {
      ...(kind !== undefined && { kind }),
      ...(strength !== undefined && { strength }),
      ...((resident || terminal) && { resident: resident === true }),
      ...(roadmap !== undefined && { roadmap: await textOf(roadmap, 'the roadmap') }),
    } as Promotion
    const promoted = await (await client()).nodes.promote(nodeOf(id, shell), body)
    if (json) out.json(promoted)
    else out.line(roleLine(promoted))
  })
}

export const registerDemote = (node: Command, shell: Shell): void => {
  const made = command(node, 'demote <id>', {
    calls: ['nodes.demote'],
    summary: 'Make a resident node terminal: it owes a final report',
    about: 'One that rests is woken and told so.',
  })
  performs(made, shell, async ({ client, out, json }, id = '') => {
    const demoted = await (await client()).nodes.demote(id)
    if (json) out.json(demoted)
    else out.line(roleLine(demoted))
  })
}
