import type { Command } from 'commander'
import type { Roadmap } from '#sdk/index.js'
import { ago } from '../../clock.js'
import { UsageError } from '../../failure.js'
import { textOf, wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { nodeOf } from '../../node/own.node.js'
import type { Shell } from '../../shell.js'

interface RoadmapOptions {
  readonly write?: string
  readonly ifMatch?: number
  readonly version?: number
}

export const registerRoadmap = (node: Command, shell: Shell): void => {
  const made = command(node, 'roadmap [id]', {
    calls: ['nodes.roadmap.retrieve'],
    mayCall: ['nodes.roadmap.write'],
    summary: 'Read or write the roadmap of an orchestrator',
    about: `What it keeps of its goal and its plan, and finds again in each fresh context. Inside a node it is this node's
unless another is named.`,
    examples: [
      ['svc node roadmap <id>', 'as it stands'],
      ['svc node roadmap <id> --version 3', 'as it was'],
      ['svc node roadmap <id> --write - < plan.md', 'another text'],
    ],
  })
    .option('--write <text>', 'its text from now on; - reads it from standard input')
    .option('--if-match <version>', 'write only if it is at this version', wholeNumber)
    .option('--version <number>', 'read this version', wholeNumber)
  performs<RoadmapOptions>(made, shell, async ({ client, out, json, options }, given) => {
    const { write, ifMatch, version } = options
    if (write !== undefined && version !== undefined) throw new UsageError('--write and --version exclude each other')
    if (write === undefined && ifMatch !== undefined) throw new UsageError('--if-match is for --write')
    const path = `/v1/nodes/${encodeURIComponent(nodeOf(given, shell))}/roadmap`
    const svc = await client()
    const found = await (write === undefined
      ? svc.request<Roadmap>('GET', version === undefined ? path : `${path}?version=${version}`)
      : svc.request<Roadmap>('PUT', path, {
          text: await textOf(write, 'the roadmap'),
          ...(ifMatch !== undefined && { if_match: ifMatch }),
        }))
    if (json) return out.json(found)
    if (write === undefined) out.line(found.text)
    out.note(`version ${found.version}, by ${found.updated_by}, ${ago(found.updated_at)} ago`)
  })
}
