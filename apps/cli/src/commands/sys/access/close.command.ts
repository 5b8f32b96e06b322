import type { Command } from 'commander'
import type { Access } from '#sdk/index.js'
import { CommandError, UsageError } from '../../../failure.js'
import { command, performs } from '../../../invocation.js'
import type { Shell } from '../../../shell.js'

/** The lists of what is open, by the names under which they are changed. */
type Opened = Readonly<Record<'listen' | 'hosts' | 'origins', readonly string[]>>

const lists = ['listen', 'hosts', 'origins'] as const

export const registerAccessClose = (access: Command, shell: Shell): void => {
  const made = command(access, 'close [what]', {
    calls: ['access.retrieve'],
    mayCall: ['access.update'],
    gate: 'owner',
    summary: 'Close an address, a host or an origin that was opened',
    about:
      'Requests under way at an address have a second for their answers. What the settings name stays as it is, and so do origins of apps: `svc app set`.',
    examples: [
      ['svc sys access close 0.0.0.0:7430', 'nobody connects there any more'],
      ['svc sys access close https://console.example', 'its pages are refused'],
      ['svc sys access close --all', 'all that was opened'],
    ],
  }).option('--all', 'everything that was opened')
  performs<{ all?: boolean }>(made, shell, async ({ client, out, json, options }, what) => {
    if ((what === undefined) !== (options.all === true)) {
      throw new UsageError('say what to close', 'one of `svc sys access list`, or --all')
    }
    const svc = await client()
    const open = openedBy(await svc.request<Access>('GET', '/v1/access'))
    const change = what === undefined ? everything : without(open, what)
    const after = await svc.request<Access>('PATCH', '/v1/access', change)
    if (json) out.json(after)
    else out.line(`${what ?? 'Everything that was opened'} is closed.`)
  })
}

const everything: Opened = { listen: [], hosts: [], origins: [] }

const openedBy = ({ listen, hosts, origins }: Access): Opened => ({
  listen: listen.map(({ address }) => address),
  hosts,
  origins,
})

/** As a person may have typed it: an origin is often copied with the slash of its page. */
const plain = (text: string): string => text.toLowerCase().replace(/\/$/, '')

/** The lists that change. @throws CommandError when it is on none */
const without = (open: Opened, what: string): Partial<Opened> => {
  const holding = lists.filter((name) => open[name].some((one) => plain(one) === plain(what)))
  if (holding.length === 0) throw new CommandError(`${what} is not open`, '`svc sys access list` shows what is')
  return Object.fromEntries(holding.map((name) => [name, open[name].filter((one) => plain(one) !== plain(what))]))
}
