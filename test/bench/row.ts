import { type Round, type Spread, spreadOf } from './stats.js'

export type Unit = 'ms' | 'µs' | '/s' | 'MB' | '%'

/** What a figure is held against: `most` for times and sizes, `least` for rates. */
export interface Target {
  readonly bound: 'most' | 'least'
  readonly value: number
}

/** One line of the table. */
export interface Row {
  readonly group: string
  readonly name: string
  readonly unit: Unit
  readonly value: Spread
  /** The same work without the daemon, measured in the same run: name of another row. */
  readonly floor?: string
  readonly target?: Target
  /** CPU ms an operation, by group of processes. */
  readonly cpu?: Readonly<Record<string, number>>
}

type About = Pick<Row, 'floor' | 'target' | 'cpu'>

/** Rows of the figures of a measurement that were asked for. */
export const rowsOf = (
  group: string,
  name: string,
  { rounds }: { readonly rounds: readonly Round[] },
  figures: Partial<Record<keyof Round, About>>,
): Row[] =>
  (Object.entries(figures) as [keyof Round, About][]).map(([figure, about]) => ({
    group,
    name: `${name}, ${figure}`,
    unit: figure === 'rate' ? '/s' : 'ms',
    value: spreadOf(rounds.map((round) => round[figure])),
    ...about,
  }))

export const most = (value: number): Target => ({ bound: 'most', value })
export const least = (value: number): Target => ({ bound: 'least', value })

export const isReached = ({ value, target }: Row): boolean | undefined =>
  target && (target.bound === 'most' ? value.median <= target.value : value.median >= target.value)
