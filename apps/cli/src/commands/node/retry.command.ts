import type { Command } from 'commander'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerRetry = (node: Command, shell: Shell): void => {
  const made = command(node, 'retry <id>', {
    calls: ['nodes.retry'],
    summary: 'Try a node again now that waits out a fault',
  })
  performs(made, shell, async ({ client, out, json }, id = '') => {
    const result = await (await client()).request<{ retried: boolean }>('POST', `/v1/nodes/${id}/retry`)
    if (json) out.json(result)
    else out.line(result.retried ? 'It is being tried again.' : 'It does not wait: it is at work.')
  })
}
