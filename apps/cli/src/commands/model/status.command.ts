import type { Command } from 'commander'
import type { ModelReadiness } from '#sdk/index.js'
import { command, performs } from '../../invocation.js'
import { printReadiness } from '../../model/readiness.view.js'
import type { Shell } from '../../shell.js'

export const registerStatus = (model: Command, shell: Shell): void => {
  const made = command(model, 'status', {
    calls: ['models.readiness'],
    summary: 'Which providers and strengths can serve a call, and what is missing',
  })
  performs(made, shell, async ({ client, out, json }) => {
    const readiness = await (await client()).request<ModelReadiness>('GET', '/v1/model-auth/readiness')
    if (json) out.json(readiness)
    else printReadiness(readiness, out)
  })
}
