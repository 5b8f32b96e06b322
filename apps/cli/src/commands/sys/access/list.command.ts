import type { Command } from 'commander'
import type { Access } from '#sdk/index.js'
import { command, performs } from '../../../invocation.js'
import { table } from '../../../output/table.js'
import type { Shell } from '../../../shell.js'

export const registerAccessList = (access: Command, shell: Shell): void => {
  const made = command(access, 'list', {
    calls: ['access.retrieve'],
    summary: 'Addresses, hosts and origins that were opened, besides what the settings name',
  })
  performs(made, shell, async ({ client, out, json }) => {
    const found = await (await client()).request<Access>('GET', '/v1/access')
    if (json) return out.json(found)
    out.line(
      table(
        ['KIND', 'OPENED', 'STATE', 'DETAIL'],
        [
          ...found.listen.map(({ address, state, detail }) => ['address', address, state, detail ?? '']),
          ...found.hosts.map((host) => ['host', host, 'open', '']),
          ...found.origins.map((origin) => ['origin', origin, 'open', '']),
        ],
      ),
    )
  })
}
