import { choosableTools, fixedTools, type Persona, type Strength, strengths } from '#common/contract/index.js'

/** What a persona's file says. */
export interface PersonaFile extends Persona {
  readonly description: string
  readonly strength: Strength | null
  readonly mode: 'base' | 'orchestrator' | null
  readonly lifecycle: 'terminal' | 'resident' | null
}

/** Why a persona can't be used, in words for the owner. */
export class PersonaFault extends Error {}

const refuse = (message: string): never => {
  throw new PersonaFault(message)
}

const known = ['description', 'strength', 'mode', 'lifecycle', 'tools']
const tools: readonly string[] = [...choosableTools, ...fixedTools]

const unquoted = (text: string): string => /^(["'])(.*)\1$/.exec(text)?.[2] ?? text

const oneOf = <T extends string>(name: string, value: string | undefined, of: readonly T[]): T | null => {
  if (value === undefined) return null
  return of.includes(value as T) ? (value as T) : refuse(`${name} is "${value}"; it must be one of ${of.join(', ')}`)
}

/** `[read, search]` or `read, search`. */
const toolsOf = (value: string): string[] => {
  const names = value
    .replace(/^\[(.*)\]$/, '$1')
    .split(',')
    .map((name) => unquoted(name.trim()))
    .filter(Boolean)
  const odd = names.find((name) => !tools.includes(name))
  return odd === undefined
    ? [...new Set(names)]
    : refuse(`tools names "${odd}", and there is no such tool; there are: ${choosableTools.join(', ')}`)
}

/** The lines between the two `---`: one `name: value` each. */
const fieldsOf = (lines: readonly string[]): Map<string, string> => {
  const fields = new Map<string, string>()
  for (const [at, line] of lines.entries()) {
    if (!line.trim() || line.trimStart().startsWith('#')) continue
    const [, name, value] = /^([A-Za-z_]+):(?:\s+(.*?))?\s*$/.exec(line) ?? []
    if (name === undefined) refuse(`line ${at + 2} is not of the form "name: value": ${line.slice(0, 80)}`)
    else if (!known.includes(name)) refuse(`line ${at + 2} names "${name}"; it takes ${known.join(', ')}`)
    else if (fields.has(name)) refuse(`line ${at + 2} names ${name} once more`)
    else if (!value) refuse(`line ${at + 2}: ${name} is empty`)
    else fields.set(name, unquoted(value))
  }
  return fields
}

/**
 * Reads a persona: front matter between two lines `---` (all of its fields may be absent), then the role in Markdown.
 *
 * @throws PersonaFault that says what is wrong, and in which line.
 */
export const readPersona = (text: string): PersonaFile => {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/)
  if (lines[0]?.trimEnd() !== '---') refuse('it must begin with front matter: a line "---"')
  const end = lines.findIndex((line, at) => at > 0 && line.trimEnd() === '---')
  if (end < 0) refuse('its front matter has no end: a second line "---"')
  const fields = fieldsOf(lines.slice(1, end))
  const role = lines
    .slice(end + 1)
    .join('\n')
    .trim()
  if (!role) refuse('nothing stands after its front matter: that is what the agent is told of its role')
  const tools = fields.get('tools')
  return {
    role,
    ...(tools !== undefined && { tools: toolsOf(tools) }),
    description: fields.get('description') ?? '',
    strength: oneOf('strength', fields.get('strength'), strengths),
    mode: oneOf('mode', fields.get('mode'), ['base', 'orchestrator']),
    lifecycle: oneOf('lifecycle', fields.get('lifecycle'), ['terminal', 'resident']),
  }
}
