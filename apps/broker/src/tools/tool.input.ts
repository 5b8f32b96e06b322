import { ToolError } from './tool.js'

type Input = Readonly<Record<string, unknown>>

/** @throws ToolError that names the field and what it takes. */
export const textOf = (input: Input, field: string, whenAbsent?: string): string => {
  const value = input[field] ?? whenAbsent
  if (typeof value !== 'string')
    throw new ToolError(`"${field}" must be a string${value === undefined ? ', and is missing' : ''}.`)
  return value
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
    throw new ToolError(`"${field}" must be a whole number from ${min} to ${max}.`)
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
export const refuseUnknown = (input: Input, known: readonly string[]): void => {
  const unknown = Object.keys(input).filter((field) => !known.includes(field))
  if (unknown.length) throw new ToolError(`This tool has no "${unknown.join('", "')}"; it takes: ${known.join(', ')}.`)
}
