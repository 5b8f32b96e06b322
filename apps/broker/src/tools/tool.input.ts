import { ToolError } from './tool.js'

type Input = Readonly<Record<string, unknown>>

/** @throws ToolError that names the field and what it takes. */
export const textOf = (input: Input, field: string, whenAbsent?: string): string => {
  const value = input[field] ?? whenAbsent
  if (typeof value !== 'string') throw new ToolError(`"${field}" must be a string, ${got(value)}.`)
  return value
}

const got = (value: unknown): string => {
  if (value === undefined) return 'and is missing'
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return `not ${value}`
  if (typeof value === 'string') return 'not text'
  return Array.isArray(value) ? 'not a list' : 'not an object'
}

/** What the system takes. */
const longestPath = 4096

/** The path of a file; never empty, and without a zero byte, which no file's name holds. @throws ToolError */
export const pathOf = (input: Input, field: string, whenAbsent?: string): string => {
  const path = textOf(input, field, whenAbsent)
  if (!path) throw new ToolError(`"${field}" is empty: give a path.`)
  if (Buffer.byteLength(path) > longestPath) throw new ToolError(`"${field}" is longer than ${longestPath} bytes.`)
  if (path.includes('\0')) throw new ToolError(`"${field}" holds a zero byte.`)
  return path
}

/** One of several words. @throws ToolError that lists them */
export const choiceOf = <T extends string>(input: Input, field: string, choices: readonly T[], whenAbsent: T): T => {
  const given = textOf(input, field, whenAbsent)
  const choice = choices.find((one) => one === given)
  if (choice === undefined)
    throw new ToolError(`"${field}" must be ${choices.join(' or ')}, not "${given.slice(0, 40)}".`)
  return choice
}

/** One of several words, absent unless given. @throws ToolError that lists them */
export const optionalChoiceOf = <T extends string>(
  input: Input,
  field: string,
  choices: readonly T[],
): T | undefined =>
  input[field] === undefined || input[field] === null || input[field] === ''
    ? undefined
    : choiceOf(input, field, choices, choices[0] as T)

/** A list; one that was sent as JSON text is taken as one. @throws ToolError */
export const listOf = (input: Input, field: string, most: number): unknown[] => {
  const value = parsed(input[field])
  if (!Array.isArray(value)) throw new ToolError(`"${field}" must be a list, ${got(value)}.`)
  if (!value.length || value.length > most)
    throw new ToolError(`"${field}" must hold 1 to ${most} entries, not ${value.length}.`)
  return value
}

/** An object, absent unless given; one that was sent as JSON text is taken as one. @throws ToolError */
export const objectOf = (input: Input, field: string): Record<string, unknown> | undefined => {
  const value = parsed(input[field])
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object' || Array.isArray(value))
    throw new ToolError(`"${field}" must be an object, ${got(value)}.`)
  return value as Record<string, unknown>
}

/** A list of strings, absent unless given; none in it is something else than no list. @throws ToolError */
export const wordsOf = (input: Input, field: string, most: number): string[] | undefined => {
  const value = parsed(input[field])
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value) || value.length > most)
    throw new ToolError(`"${field}" must be a list of at most ${most} strings.`)
  return value.map((word, at) => {
    if (typeof word !== 'string') throw new ToolError(`${field}[${at}] must be a string, ${got(word)}.`)
    return word
  })
}

const parsed = (value: unknown): unknown => {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

export const optionalTextOf = (input: Input, field: string): string | undefined =>
  input[field] === undefined || input[field] === null ? undefined : textOf(input, field)

/** A whole number within bounds; a number sent as text is taken as one. */
export const wholeOf = (
  input: Input,
  field: string,
  bounds: { min: number; max: number; whenAbsent: number },
): number => {
  const { min, max, whenAbsent } = bounds
  const given = input[field] ?? whenAbsent
  const value = typeof given === 'string' && given.trim() !== '' ? Number(given) : given
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    const bounds = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`
    throw new ToolError(`"${field}" must be a whole number ${bounds}.`)
  }
  return value
}

export const flagOf = (input: Input, field: string): boolean => {
  const value = input[field] ?? false
  if (value === true || value === 'true') return true
  if (value === false || value === 'false') return false
  throw new ToolError(`"${field}" must be true or false.`)
}

/** Refuses fields that the tool doesn't have, which are typing errors more often than not. */
export const refuseUnknown = (input: Input, known: readonly string[], where = 'This tool'): void => {
  const unknown = Object.keys(input).filter((field) => !known.includes(field))
  if (!unknown.length) return
  const shown = unknown.slice(0, 5).map((field) => `"${field.slice(0, 40)}"`)
  throw new ToolError(`${where} has no ${shown.join(', ')}; it takes: ${known.join(', ')}.`)
}
