import type { Command } from 'commander'
import type { ModelConfig, ModelReadiness } from '#sdk/index.js'
import { UsageError } from '../../failure.js'
import { fileText, hiddenLine, standardInput } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { presets, type Strength, strengths, withRungs } from '../../model/presets.js'
import { printReadiness } from '../../model/readiness.view.js'
import type { Shell } from '../../shell.js'

interface AddOptions {
  readonly name?: string
  readonly baseUrl?: string
  readonly model?: string
  readonly strength?: readonly string[]
  readonly keyFile?: string
  readonly keyStdin?: boolean
  readonly first?: boolean
}

export const registerAdd = (model: Command, shell: Shell): void => {
  const made = command(model, 'add <provider>', {
    calls: ['models.config.retrieve', 'models.config.update', 'models.readiness'],
    mayCall: ['models.credentials.install'],
    summary: 'Add a provider of models, with its key, and put its models on the ladders',
    about: `The provider is ${Object.keys(presets).join(', ')}. Its key is read from --key-file, or from standard input: typed
unseen on a terminal, or piped. It is never an argument, where every process of the machine could read it.

Without --model the provider's usual models serve the strengths light, medium, strong and ultra. What is on a ladder
already is asked first, unless you say --first.`,
    examples: [
      ['svc model add openai --key-file ~/.openai-key', 'a key from a file'],
      ['svc model add anthropic', 'a key that you paste'],
      ['svc model add ollama --model qwen3:8b', 'a model of this machine, without a key'],
      [
        'svc model add openai-compatible --name lab --base-url http://lab:8000/v1 --model m',
        'any server that speaks the same',
      ],
    ],
  })
    .option('--name <name>', 'name of the provider here; its kind unless given')
    .option('--base-url <url>', "address of the provider's API")
    .option('--model <name>', 'its model for the strengths')
    .option('--strength <strength...>', 'only these strengths')
    .option('--key-file <file>', 'file that holds the key')
    .option('--key-stdin', 'read a key from standard input, for a provider that needs none')
    .option('--first', 'ask it before what is on the ladders')
  performs<AddOptions>(made, shell, async ({ client, out, json, options }, kind = '') => {
    const preset = presets[kind]
    if (!preset) throw new UsageError(`${kind} is no kind of provider`, `one of ${Object.keys(presets).join(', ')}`)
    const name = options.name ?? kind
    const baseUrl = options.baseUrl ?? preset.provider.base_url
    if (preset.provider.type === 'openai-compatible' && !baseUrl)
      throw new UsageError('--base-url is missing: where does it listen?')
    const models = modelsOf(options, preset.models)
    const key = await keyOf(options, preset.keyed)
    const svc = await client()
    const config = await svc.request<ModelConfig>('GET', '/v1/model-config')
    await svc.models.config.update({
      if_version: config.version,
      providers: {
        ...config.providers,
        [name]: {
          ...preset.provider,
          ...(baseUrl && { base_url: baseUrl }),
          ...(key && !preset.keyed && { requires_key: true }),
        },
      },
      ladders: withRungs(config.ladders, name, models, options.first),
    })
    if (key) await svc.models.credentials.install(name, { kind: 'api_key', api_key: key })
    const readiness = await svc.request<ModelReadiness>('GET', '/v1/model-auth/readiness')
    if (json) out.json(readiness)
    else printReadiness(readiness, out)
  })
}

const modelsOf = ({ model, strength }: AddOptions, usual: Partial<Record<Strength, string>> | undefined) => {
  const unknown = strength?.find((one) => !strengths.includes(one as Strength))
  if (unknown) throw new UsageError(`${unknown} is no strength`, `one of ${strengths.join(', ')}`)
  if (!model && !usual) throw new UsageError('--model is missing: which of its models shall serve?')
  const wanted = strengths.filter((one) => !strength || strength.includes(one))
  return Object.fromEntries(wanted.map((one) => [one, model ?? usual?.[one]])) as Partial<Record<Strength, string>>
}

const keyOf = async ({ keyFile, keyStdin }: AddOptions, needed: boolean): Promise<string | undefined> => {
  if (!keyFile && !keyStdin && !needed) return undefined
  const key = (
    keyFile ? fileText(keyFile) : process.stdin.isTTY ? await hiddenLine('key (not shown): ') : await standardInput()
  ).trim()
  if (!key) throw new UsageError('the key is empty', 'name its file with --key-file, or send it to standard input')
  return key
}
