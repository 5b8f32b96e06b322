import { resolve } from 'node:path'
import type { CronActionInput, CronCreate } from '#sdk/index.js'
import { secondsOf } from '../../cron/duration.js'
import { UsageError } from '../../failure.js'
import { assignment, jsonIn, jsonOf, milliseconds, oneOf, textOf } from '../../input.js'
import type { Shell } from '../../shell.js'
import { type NewOptions, nodeBody } from '../node/new.body.js'
import { type ScheduleFlags, timesOf } from './schedule.flags.js'

export interface AddOptions extends ScheduleFlags, Omit<NewOptions, 'wait' | 'watch'> {
  readonly message?: string
  readonly to?: string
  readonly tier?: string
  readonly new?: string
  readonly nodeName?: string
  readonly bash?: string
  readonly timeout?: string
  readonly publish?: string
  readonly event?: string
  readonly payload?: string
  readonly actionJson?: string
  readonly for?: string
  readonly missed?: string
  readonly window?: string
  readonly overlap?: string
  readonly jitter?: string
  readonly maxFailures?: number
  readonly deleteAfterRun?: boolean
}

const kindNames = ['message', 'new', 'bash', 'publish', 'actionJson'] as const
type Kind = (typeof kindNames)[number]

const tiers = ['critical', 'urgent', 'normal', 'deferred'] as const
const missed = ['skip', 'once', 'all'] as const
const overlaps = ['allow', 'skip', 'queue'] as const

/** Options that say more about one kind of action, or about two. */
const belong: Readonly<Partial<Record<keyof AddOptions, readonly Kind[]>>> = {
  to: ['message'],
  tier: ['message'],
  cwd: ['new', 'bash'],
  env: ['new', 'bash'],
  timeout: ['bash'],
  event: ['publish'],
  payload: ['publish'],
  kind: ['new'],
  nodeName: ['new'],
  strength: ['new'],
  model: ['new'],
  engine: ['new'],
  mode: ['new'],
  lifecycle: ['new'],
  parent: ['new'],
  root: ['new'],
  scopes: ['new'],
  worktree: ['new'],
  branch: ['new'],
  base: ['new'],
  resultSchema: ['new'],
  stdin: ['new'],
}

const flagOf = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/**
 * What the command line asks to be armed.
 *
 * @param here what directories are relative to
 * @throws UsageError
 */
export const cronBody = async (options: AddOptions, shell: Shell, here: string): Promise<CronCreate> => {
  const { name, window, jitter, maxFailures, deleteAfterRun } = options
  const policy = oneOf(missed, options.missed, '--missed')
  const overlap = oneOf(overlaps, options.overlap, '--overlap')
  return {
    ...(name !== undefined && { name }),
    ...timesOf(options),
    action: await actionOf(options, shell, here),
    ...(options.for !== undefined && { owner_node_id: options.for }),
    ...(policy && { missed: policy }),
    ...(window !== undefined && { catchup_window_s: secondsOf(window) }),
    ...(overlap && { overlap }),
    ...(jitter !== undefined && { jitter_s: secondsOf(jitter) }),
    ...(maxFailures !== undefined && { max_failures: maxFailures }),
    ...(deleteAfterRun && { delete_after_run: true }),
  }
}

const actionOf = async (options: AddOptions, shell: Shell, here: string): Promise<CronActionInput> => {
  const kind = kindOf(options, shell)
  switch (kind) {
    case 'message':
      return messageOf(options, shell)
    case 'new':
      return { type: 'create_node', ...(await nodeOf(options, shell, here)) }
    case 'bash':
      return bashOf(options, here)
    case 'publish':
      return publicationOf(options)
    case 'actionJson':
      return (await jsonIn(options.actionJson as string, '--action-json')) as CronActionInput
  }
}

/** @throws UsageError unless there is exactly one action, and nothing that belongs to another */
const kindOf = (options: AddOptions, { trailing }: Shell): Kind => {
  const kinds: Kind[] = kindNames.filter((name) => options[name] !== undefined)
  if (trailing.length && !kinds.includes('new')) kinds.push('new')
  const [kind, ...others] = kinds
  if (kind === undefined || others.length) {
    const words = kinds.map((name) =>
      name === 'new' && options.new === undefined ? 'a program after --' : flagOf(name),
    )
    throw new UsageError(
      kind ? `there are several actions: ${words.join(', ')}` : 'what it is to do is missing',
      'say one of --message <text>, --new <prompt>, --bash <command>, --publish <object> and --action-json <file>',
    )
  }
  for (const [name, kinds] of Object.entries(belong)) {
    if (options[name as keyof AddOptions] !== undefined && !kinds.includes(kind)) {
      throw new UsageError(`${flagOf(name)} says nothing here`, `it goes with ${kinds.map(flagOf).join(' and ')}`)
    }
  }
  return kind
}

const messageOf = async ({ message, to, tier }: AddOptions, { nodeId }: Shell): Promise<CronActionInput> => {
  const node = to ?? nodeId
  if (node === undefined) throw new UsageError('whom the message is for is missing', 'name the node: --to <id>')
  const urgency = oneOf(tiers, tier, '--tier')
  return {
    type: 'message',
    node_id: node,
    body: await textOf(message, 'the message'),
    ...(urgency && { tier: urgency }),
  }
}

/** Nobody waits at the screen, so that each has an end of its own unless it is told to stay. */
const nodeOf = ({ nodeName, ...options }: AddOptions, { trailing }: Shell, here: string) => {
  const { name: _ofTheSchedule, ...others } = options
  const asked = { lifecycle: 'terminal', ...others, ...(nodeName !== undefined && { name: nodeName }) }
  return nodeBody(options.new, asked, trailing, here)
}

const bashOf = async ({ bash, cwd, timeout, env }: AddOptions, here: string): Promise<CronActionInput> => ({
  type: 'bash',
  cwd: resolve(here, cwd ?? '.'),
  command: await textOf(bash, 'the command'),
  ...(timeout !== undefined && { timeout: milliseconds(timeout) }),
  ...(env && { env: Object.fromEntries(env.map(assignment)) }),
})

/** Payloads are mostly short, and so stand in the line itself. */
const publicationOf = async ({ publish, event, payload }: AddOptions): Promise<CronActionInput> => {
  if (event === undefined) throw new UsageError('which event is to be published is missing', 'name it: --event <name>')
  return {
    type: 'publish',
    ref: publish as string,
    event,
    payload: payload === undefined ? {} : await jsonOf(payload, '--payload'),
  }
}
