import { SvcError } from './errors.js'

/** Sources of an event, `any` for every state, and its target; `kept` leaves the state as it is. */
export interface Transition<State extends string> {
  readonly from: readonly State[] | 'any'
  readonly to: State | 'kept'
  /** Other fields of the record that the event decides. */
  readonly set?: Readonly<Record<string, unknown>>
}

export type Table<State extends string, Event extends string> = Readonly<Record<Event, Transition<State>>>

export interface Machine<State extends string, Event extends string> {
  readonly name: string
  readonly states: readonly State[]
  readonly events: readonly Event[]
  readonly initial: State
  readonly table: Table<State, Event>
  /** State after the event, or undefined where the event is illegal. */
  next(state: State, event: Event): State | undefined
  legal(state: State): readonly Event[]
  /** The record in its new state; the old one stays as it was. @throws SvcError illegal_transition */
  apply<R extends { readonly status: State }>(record: R, event: Event): R
  /** Mermaid text of the diagram. */
  diagram(): string
}

interface Definition<State extends string, Event extends string> {
  readonly name: string
  readonly states: readonly State[]
  readonly initial: State
  readonly table: Table<State, Event>
}

const problemOf = <S extends string, E extends string>({
  states,
  initial,
  table,
}: Definition<S, E>): string | undefined => {
  const transitions = Object.entries<Transition<S>>(table)
  for (const [event, { from, to }] of transitions) {
    const named = [...(from === 'any' ? [] : from), ...(to === 'kept' ? [] : [to])]
    const unknown = named.find((state) => !states.includes(state))
    if (unknown !== undefined) return `${event} names the unknown state ${unknown}`
  }
  if (!states.includes(initial)) return `the initial state ${initial} is unknown`
  const reached = new Set<S>([initial])
  for (const state of reached) {
    for (const [, { from, to }] of transitions)
      if (to !== 'kept' && (from === 'any' || from.includes(state))) reached.add(to)
  }
  const unreachable = states.find((state) => !reached.has(state))
  return unreachable === undefined ? undefined : `${unreachable} can't be reached from ${initial}`
}

/**
 * A machine from one table keyed by event. State and event types follow from it.
 *
 * @throws Error at definition, and so at boot, on an unknown or unreachable state.
 */
export const defineMachine = <const S extends string, const E extends string>(
  definition: Definition<S, E>,
): Machine<S, E> => {
  const problem = problemOf(definition)
  if (problem) throw new Error(`machine ${definition.name}: ${problem}`)
  const { name, states, initial, table } = definition
  const events = Object.keys(table) as E[]
  const next = (state: S, event: E): S | undefined => {
    const { from, to } = table[event]
    if (from !== 'any' && !from.includes(state)) return undefined
    return to === 'kept' ? state : to
  }
  return {
    name,
    states,
    events,
    initial,
    table,
    next,
    legal: (state) => events.filter((event) => next(state, event) !== undefined),
    apply: (record, event) => {
      const status = next(record.status, event)
      if (status === undefined) {
        throw new SvcError('illegal_transition', `A ${name} that is ${record.status} can't ${event}.`, {
          state: record.status,
          event,
        })
      }
      return { ...record, ...table[event].set, status }
    },
    diagram: () =>
      ['stateDiagram-v2', `  [*] --> ${initial}`]
        .concat(
          events.flatMap((event) =>
            states
              .filter((state) => next(state, event) !== undefined)
              .map((state) => `  ${state} --> ${next(state, event)}: ${event}`),
          ),
        )
        .join('\n'),
  }
}
