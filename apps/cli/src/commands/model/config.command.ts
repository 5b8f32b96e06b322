import type { Command } from 'commander'
import type { ModelConfig, ModelConfigUpdate } from '#sdk/index.js'
import { jsonOf } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerConfig = (model: Command, shell: Shell): void => {
  const made = command(model, 'config [change]', {
    calls: ['models.config.retrieve'],
    mayCall: ['models.config.update'],
    summary: 'Read or change providers, ladders, prices and limits',
    about: 'The change is JSON: itself, @file, or - for standard input. A field that it leaves out stays as it is.',
    examples: [
      ['svc model config', 'print it'],
      [`svc model config '{"ladders": {"strong": ["openai/gpt-5.6"]}}'`, 'change the ladders'],
      [`svc model config '{"limits": {"cost_usd_per_day": 5}}'`, 'set a limit'],
    ],
  })
  performs(made, shell, async ({ client, out }, change) => {
    const svc = await client()
    out.json(
      change === undefined
        ? await svc.request<ModelConfig>('GET', '/v1/model-config')
        : await svc.models.config.update((await jsonOf(change, 'the change')) as ModelConfigUpdate),
    )
  })
}
