import type { Command } from 'commander'
import type { ModelConfig, SvcError } from '#sdk/index.js'
import { UsageError } from '../../failure.js'
import { command, performs } from '../../invocation.js'
import { withoutProvider } from '../../model/presets.js'
import type { Shell } from '../../shell.js'

export const registerRemove = (model: Command, shell: Shell): void => {
  const made = command(model, 'remove <provider>', {
    calls: ['models.credentials.remove', 'models.config.retrieve'],
    mayCall: ['models.config.update'],
    summary: 'Remove a provider: its key, its configuration and its models on the ladders',
    examples: [['svc model remove openai --key-only', 'only the key']],
  }).option('--key-only', 'leave configuration and ladders as they are')
  performs<{ keyOnly?: boolean }>(made, shell, async ({ client, out, json, options }, name = '') => {
    const svc = await client()
    const hadKey = await svc.models.credentials.remove(name).then(
      () => true,
      (error: SvcError) => {
        if (error.code === 'not_found' && !options.keyOnly) return false
        throw error
      },
    )
    const config = await svc.request<ModelConfig>('GET', '/v1/model-config')
    const { [name]: known, ...providers } = config.providers
    if (!hadKey && !known) throw new UsageError(`there is no provider ${name}`, 'svc model status lists them')
    if (!options.keyOnly && known) {
      await svc.models.config.update({
        if_version: config.version,
        providers,
        ladders: withoutProvider(config.ladders, name),
      })
    }
    if (json) out.json({ provider: name, key: hadKey, configuration: !options.keyOnly && known !== undefined })
    else out.line(options.keyOnly ? `The key of ${name} is removed.` : `${name} is removed.`)
  })
}
