import { SvcError } from './errors.js'

/**
 * The one parser and the one algebra of scopes. A list of scopes is an allow-list: it permits what at least one of its
 * entries covers. An unknown scope is an error everywhere, never ignored; `*` is the owner's.
 */

type Flag = 'llm' | 'act' | 'schedule' | 'share'
type Family = 'memory' | 'files' | 'conversations' | 'objects'
type Level = 'read' | 'rw' | 'manage'

/** Whose things: the person's, or an application's, or those of one profile of it. */
type Holder = { readonly kind: 'user' } | { readonly kind: 'app'; readonly app: string; readonly profile?: string }

export type Scope =
  | { readonly kind: 'all' }
  | { readonly kind: 'flag'; readonly flag: Flag }
  | {
      readonly kind: 'area'
      readonly family: Family
      readonly level: Level
      readonly holder: Holder
      readonly path?: string
    }
  | { readonly kind: 'tool'; readonly provider: string; readonly group: string }

export interface ScopeRules {
  /** Whether `<provider>:<group>` names something configured here; nothing is unless given. */
  readonly knowsTool?: (provider: string, group: string) => boolean
}

const flags: Readonly<Record<string, Flag>> = {
  'svc:llm': 'llm',
  'svc:act': 'act',
  'svc:schedule': 'schedule',
  'svc:files:share': 'share',
}
const flagNames = Object.fromEntries(Object.entries(flags).map(([text, flag]) => [flag, text])) as Record<Flag, string>

const levels: readonly Level[] = ['read', 'rw', 'manage']
const rank: Readonly<Record<Level, number>> = { read: 0, rw: 1, manage: 2 }

/** Characters of the longest scope: a path of the greatest length that systems take, and what stands before it. */
const longestScope = 4096 + 300

/** What the contract's table allows for each family: its levels, its holders, and whether a path may or must follow. */
const areas: Readonly<Record<Family, Partial<Record<`${Level}:${Holder['kind']}`, 'none' | 'optional' | 'required'>>>> =
  {
    memory: {
      'read:user': 'optional',
      'rw:user': 'optional',
      'manage:user': 'none',
      'read:app': 'none',
      'rw:app': 'none',
    },
    files: { 'read:user': 'required', 'rw:user': 'required', 'read:app': 'required', 'rw:app': 'required' },
    conversations: { 'read:app': 'none' },
    objects: { 'read:app': 'none' },
  }

const name = '[A-Za-z0-9][A-Za-z0-9_.-]{0,127}'
const areaForm = new RegExp(
  `^svc:(memory|files|conversations|objects):(read|rw|manage):(?:(user)|app:(${name})(?::profile:(${name}))?)(?::(.+))?$`,
  's',
)
const toolForm = new RegExp(`^(${name}):(${name})$`)

const unknown = (text: string): never => {
  throw new SvcError('validation_failed', `"${text.slice(0, 200)}" is not a scope`, {
    errors: [{ pointer: '/scopes', message: `"${text.slice(0, 200)}" is not a scope` }],
  })
}

/** The path in its one spelling: no empty or `.` segment. Null when it could step upwards or is not what the family takes. */
const pathOf = (family: Family, text: string): string | null => {
  const segments = text.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.includes('..') || text.includes('\0') || !text.isWellFormed()) return null
  if (family === 'files') return text.startsWith('/') ? `/${segments.join('/')}` : null
  return segments.length > 0 ? segments.join('/') : null
}

const areaOf = (match: RegExpExecArray): Scope | null => {
  const [, family, level, user, app, profile, rest] = match as unknown as [
    string,
    Family,
    Level,
    ...(string | undefined)[],
  ]
  const takesPath = areas[family][`${level}:${user ? 'user' : 'app'}`]
  if (takesPath === undefined || (profile !== undefined && family !== 'memory')) return null
  if (rest === undefined ? takesPath === 'required' : takesPath === 'none') return null
  const path = rest === undefined ? undefined : pathOf(family, rest)
  if (path === null) return null
  const holder: Holder = user ? { kind: 'user' } : { kind: 'app', app: app!, ...(profile !== undefined && { profile }) }
  return { kind: 'area', family, level, holder, ...(path !== undefined && { path }) }
}

/**
 * Reads one scope.
 *
 * @throws SvcError `validation_failed` when it is not one of the table's forms.
 */
export const parseScope = (text: string, rules: ScopeRules = {}): Scope => {
  if (text.length > longestScope) return unknown(text)
  if (text === '*') return { kind: 'all' }
  const flag = Object.hasOwn(flags, text) ? flags[text] : undefined
  if (flag) return { kind: 'flag', flag }
  const area = areaForm.exec(text)
  if (area) return areaOf(area) ?? unknown(text)
  const [, provider, group] = toolForm.exec(text) ?? []
  if (provider === undefined || group === undefined || provider === 'svc') return unknown(text)
  return rules.knowsTool?.(provider, group) ? { kind: 'tool', provider, group } : unknown(text)
}

const holderText = (holder: Holder): string =>
  holder.kind === 'user'
    ? 'user'
    : `app:${holder.app}${holder.profile === undefined ? '' : `:profile:${holder.profile}`}`

/** The one spelling of a scope. */
export const formatScope = (scope: Scope): string => {
  switch (scope.kind) {
    case 'all':
      return '*'
    case 'flag':
      return flagNames[scope.flag]
    case 'area':
      return `svc:${scope.family}:${scope.level}:${holderText(scope.holder)}${scope.path === undefined ? '' : `:${scope.path}`}`
    case 'tool':
      return `${scope.provider}:${scope.group}`
  }
}

const meetHolder = (a: Holder, b: Holder): Holder | null => {
  if (a.kind === 'user' || b.kind === 'user') return a.kind === b.kind ? a : null
  if (a.app !== b.app) return null
  if (a.profile === undefined) return b
  return b.profile === undefined || b.profile === a.profile ? a : null
}

/** Whether `inner` is `outer` or lies beneath it. */
const lies = (inner: string, outer: string): boolean =>
  outer === '/' || (inner.startsWith(outer) && (inner.length === outer.length || inner[outer.length] === '/'))

const meetPath = (a: string | undefined, b: string | undefined): { path?: string } | null => {
  if (a === undefined || b === undefined) {
    const path = a ?? b
    return path === undefined ? {} : { path }
  }
  if (lies(a, b)) return { path: a }
  return lies(b, a) ? { path: b } : null
}

/** What two scopes both permit, or null: the greatest scope that each of them covers. */
const meet = (a: Scope, b: Scope): Scope | null => {
  if (a.kind === 'all') return b
  if (b.kind === 'all') return a
  if (a.kind === 'area' && b.kind === 'area') {
    if (a.family !== b.family) return null
    const holder = meetHolder(a.holder, b.holder)
    const path = meetPath(a.path, b.path)
    const level = levels[Math.min(rank[a.level], rank[b.level])]!
    return holder && path && { kind: 'area', family: a.family, level, holder, ...path }
  }
  return coversOne(a, b) ? a : null
}

const coversHolder = (held: Holder, wanted: Holder): boolean => {
  if (held.kind === 'user' || wanted.kind === 'user') return held.kind === wanted.kind
  return held.app === wanted.app && (held.profile === undefined || held.profile === wanted.profile)
}

/** Whether `wanted` is what the two meet in; told without making it, since every request asks this of a whole list. */
const coversOne = (held: Scope, wanted: Scope): boolean => {
  if (held.kind === 'all') return true
  if (held.kind === 'flag') return wanted.kind === 'flag' && held.flag === wanted.flag
  if (held.kind === 'tool') {
    return wanted.kind === 'tool' && held.provider === wanted.provider && held.group === wanted.group
  }
  if (wanted.kind !== 'area' || held.family !== wanted.family || rank[held.level] < rank[wanted.level]) return false
  if (!coversHolder(held.holder, wanted.holder)) return false
  return held.path === undefined || (wanted.path !== undefined && lies(wanted.path, held.path))
}

/** A tool's scope is judged when it is granted; within lists that are held already, any provider counts as known. */
const held: ScopeRules = { knowsTool: () => true }

/** Scopes read before, by their text: lists cross the bus with every request, and what they hold seldom changes. */
const known = new Map<string, Scope>()
const mostKnown = 4096
const longestKnown = 512

const readHeld = (text: string): Scope => {
  const before = known.get(text)
  if (before) return before
  const scope = parseScope(text, held)
  if (text.length > longestKnown) return scope
  if (known.size >= mostKnown) known.delete(known.keys().next().value!)
  known.set(text, scope)
  return scope
}

/**
 * Whether a list permits a scope.
 *
 * @throws SvcError `validation_failed` when `wanted`, or an entry of its family in the list, is not a scope.
 */
export const covers = (list: readonly string[], wanted: string): boolean => {
  if (list.includes('*')) return true
  const scope = readHeld(wanted)
  // all others have one spelling, and nothing but themselves covers them
  if (scope.kind !== 'area') return list.includes(wanted)
  const family = `svc:${scope.family}:`
  return list.some((entry) => entry.startsWith(family) && coversOne(readHeld(entry), scope))
}

/** Each scope once, in its one spelling, without those that another one covers already. */
const antichain = (all: readonly Scope[]): Map<string, Scope> => {
  const scopes = new Map(all.map((scope) => [formatScope(scope), scope]))
  for (const [text, scope] of scopes) {
    if (scopes.values().some((other) => other !== scope && coversOne(other, scope))) scopes.delete(text)
  }
  return scopes
}

/** Each scope once, in its one spelling, sorted, without those that another entry of the list covers already. */
export const normalise = (list: readonly string[], rules: ScopeRules = held): string[] =>
  [...antichain(list.map((text) => parseScope(text, rules))).keys()].sort()

/** What both lists permit: a scope is covered by the answer exactly when each list covers it. */
export const intersect = (a: readonly string[], b: readonly string[]): string[] => {
  const right = [...antichain(b.map(readHeld)).values()]
  const both = antichain(a.map(readHeld))
    .values()
    .flatMap((scope) => right.map((other) => meet(scope, other)))
    .filter((scope) => scope !== null)
  return [...antichain([...both]).keys()].sort()
}

/** Those of `wanted` that lie outside the ceiling, as they were written. */
export const exceeding = (wanted: readonly string[], ceiling: readonly string[]): string[] =>
  wanted.filter((text) => !covers(ceiling, text))

/**
 * Checks a list that somebody asks for: every scope known, none of them `*`, which is the owner's own, and `svc:act` only
 * together with `svc:llm`.
 *
 * @returns the list, normalised.
 * @throws SvcError `validation_failed` that points at what is wrong.
 */
export const checkScopes = (list: readonly string[], rules: ScopeRules = {}): string[] => {
  if (list.includes('*')) return unknown('*')
  const scopes = normalise(list, rules)
  if (covers(scopes, 'svc:act') && !covers(scopes, 'svc:llm')) {
    const message = 'svc:act requires svc:llm'
    throw new SvcError('validation_failed', message, { errors: [{ pointer: '/scopes', message }] })
  }
  return scopes
}
