import { type CronAction, cronLimits, type PossibleAction } from '#common/contract/cron.schema.js'
import { SvcError } from '#common/kernel/errors.js'

const available: readonly PossibleAction['type'][] = ['message', 'create_node', 'bash', 'publish']

const isPossible = (action: CronAction): action is PossibleAction => available.some((type) => type === action.type)

/** U+0000 and halves of characters as JSON writes them, and not the six characters: no database reads them. */
const unreadable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/

/** @throws SvcError action_unavailable, validation_failed (one that is too large to be kept, or that nobody could be told) */
export const requirePossible = (action: CronAction): PossibleAction => {
  if (!isPossible(action)) {
    throw new SvcError('action_unavailable', `There is no action \`${action.type}\` here yet.`, { available })
  }
  const text = JSON.stringify(action)
  const bytes = Buffer.byteLength(text)
  if (bytes > cronLimits.actionBytes) refuse(`must be at most ${cronLimits.actionBytes} bytes of JSON, and is ${bytes}`)
  if (unreadable.test(text)) refuse('may hold neither the character U+0000 nor half of a character')
  return action
}

const refuse = (message: string): never => {
  throw new SvcError('validation_failed', undefined, { errors: [{ pointer: '/action', message }] })
}

/** Characters of a name that is made of what is done. */
const longestName = 60

const textOf = (action: PossibleAction): string => {
  switch (action.type) {
    case 'message':
      return action.body
    case 'create_node':
      return action.name ?? action.prompt
    case 'bash':
      return action.command
    case 'publish':
      return `${action.event} of ${action.ref}`
  }
}

/** What a schedule is called whose maker gave it no name: the beginning of what it says or runs. */
export const nameOf = (action: PossibleAction): string => {
  const words = textOf(action)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
  const characters = [...words]
  if (characters.length === 0) return action.type
  return characters.length <= longestName
    ? words
    : `${characters
        .slice(0, longestName - 1)
        .join('')
        .trimEnd()}…`
}
