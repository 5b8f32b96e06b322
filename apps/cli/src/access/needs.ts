import type { Command } from 'commander'
import { DeniedError } from '../failure.js'
import { gates, type OperationName } from '../generated/gates.js'
import type { Rights } from './rights.js'

/** What a command takes of whoever calls it. A test holds each command to the operations that it names. */
export interface Needs {
  /** Operations that it can't do without. */
  readonly calls?: readonly OperationName[]
  /** Operations that it calls with some options only, or where they are permitted. */
  readonly mayCall?: readonly OperationName[]
  /** What it takes besides; `machine`: it works on this machine, as whoever runs it, and is not for agents in nodes. */
  readonly gate?: Gate
}

type Gate = (typeof gates)[OperationName][number] | 'bearer' | 'app' | `svc:${string}` | 'machine'

const needs = new WeakMap<Command, Needs>()

export const setNeeds = (made: Command, { calls = [], mayCall = [], gate }: Needs): void => {
  needs.set(made, { calls, mayCall, ...(gate && { gate }) })
}

export const needsOf = (made: Command): Needs | undefined => needs.get(made)

const opens = (gate: Gate, { kind, scopes, inNode }: Rights): boolean => {
  switch (gate) {
    case 'open':
    case 'bearer':
      return true
    case 'machine':
      return !inNode
    case 'own':
      return kind !== 'pub'
    case 'app':
    case 'owner':
    case 'pub':
      return kind === gate
    case 'self':
    case 'broker':
      return kind === 'node'
    default:
      return scopes === undefined ? kind !== 'pub' : scopes.includes('*') || scopes.includes(gate)
  }
}

/** The gates that are closed to it, all of those of one operation. */
const closedTo = (rights: Rights, { calls = [], gate }: Needs): readonly Gate[] | undefined =>
  [...(gate ? [[gate]] : []), ...calls.map((name) => gates[name])].find(
    (each) => !each.some((one) => opens(one, rights)),
  )

/** As the daemon refuses: of several closed gates the scope is named, since a caller can ask for one. */
const refusalOf = (path: string, closed: readonly Gate[], { kind }: Rights): DeniedError => {
  const scope = closed.find((one) => one.startsWith('svc:'))
  if (kind === 'pub')
    return new DeniedError('publish_token_only', `\`${path}\` is not for the publish token of an object`)
  if (scope) {
    const remedy = `whoever made this node or gave out this token can give it ${scope}`
    return new DeniedError('scope_missing', `\`${path}\` needs the scope ${scope}`, remedy, { scope })
  }
  if (closed.includes('app')) return new DeniedError('app_token_required', `\`${path}\` needs the token of an app`)
  return closed.includes('owner') || closed.includes('machine')
    ? new DeniedError('owner_required', `\`${path}\` is for the owner of the daemon`)
    : new DeniedError('node_token_required', `\`${path}\` is for what runs inside of a node`)
}

export const pathOf = (one: Command): string => (one.parent ? `${pathOf(one.parent)} ${one.name()}` : one.name())

/** Why this caller can't use it, if so; a group is for who can use one of its commands. */
export const refusal = (made: Command, rights: Rights): DeniedError | undefined => {
  const closed = closedTo(rights, needs.get(made) ?? {})
  if (closed) return refusalOf(pathOf(made), closed, rights)
  const inside = made.commands.map((child) => refusal(child, rights))
  return inside.length > 0 && inside.every((one) => one !== undefined) ? inside[0] : undefined
}
