import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'
import {
  type Ending,
  type FaultText,
  marksAtOnce,
  type Since,
  type TurnMark,
  type WorkInHand,
  WorkRepository,
} from './work.repository.js'
import { type Course, conclusionOf, mayHaveEnded, stateOfCourse, stateOfMail, type WorkState } from './work.state.js'

const states = contract['lifecycle.work.states']
type Answer = OutputOf<typeof states>['works'][number]

/** Works that are looked at together when old ones are forgotten. */
const page = 500

/** One that was taken in: where its mail is, and from which turn and from where in the node's record on it is followed. */
interface Taken {
  readonly work: WorkInHand
  readonly nodeId: string
  readonly turn: number
  readonly since: Since
}

/**
 * What has become of works, told from rows alone, however late it is asked and whatever the node was given since.
 *
 * A work is a mail: the prompt of a node that was made for it, or a message. It is followed into the turn that took it in.
 * - A terminal node settles it as it settles the piece of work that this turn belongs to: `done` is succeeded, `dead` is
 *   failed with the node's fault, `canceled` is canceled. While it rests or waits, the work goes on.
 * - A resident settles it with that turn: completed is succeeded, interrupted is canceled. A turn that failed is followed
 *   into the next try, one that asked for a fresh context into that; a node that dies of it fails it with its fault.
 * - A `deferred` message is done as soon as it was accepted, since it wakes nobody.
 * - A fault that passes by itself (rate limit, overload, connection) is no end: the work goes on. One that holds the node for
 *   a credential or a grant is: without a person it goes no further, so it has failed as long as that lasts.
 * - Of a node that was deleted nothing is known any more: failed, with not_found.
 */
@Injectable()
export class WorkStates {
  constructor(
    private readonly database: Database,
    private readonly writer: Writer,
    private readonly works: WorkRepository,
  ) {}

  async read(_ctx: Context, { keys }: InputOf<typeof states>): Promise<OutputOf<typeof states>> {
    const known = await this.of(keys)
    return { works: keys.map((key) => shown(key, known.get(key))) }
  }

  /** Forgets works that were begun before then and have settled; answers how many. */
  async forget(ctx: Context, before: Date): Promise<number> {
    let removed = 0
    for (let after = { createdAt: new Date(0), id: '' }; !ctx.signal.aborted; ) {
      const old = await this.works.older(this.database, before, after, page)
      const last = old.at(-1)
      if (!last) break
      after = { createdAt: last.accepted_at, id: last.key }
      const found = await this.of(old.map(({ key }) => key))
      const over = [...found].filter(([, { state }]) => state.state !== 'running').map(([key]) => key)
      if (over.length > 0) removed += await this.writer.transact(ctx, ({ tx }) => this.works.remove(tx, over))
    }
    return removed
  }

  private async of(keys: readonly string[]): Promise<Map<string, { work: WorkInHand; state: WorkState }>> {
    const works = await this.works.inHand(this.database, keys)
    const known = new Map<string, { work: WorkInHand; state: WorkState }>()
    const taken: Taken[] = []
    for (const work of works) {
      const state = stateOfMail(work)
      if (state) known.set(work.key, { work, state })
      else if (work.mail) {
        taken.push({ work, nodeId: work.mail.node_id, turn: work.mail.turn ?? 0, since: sinceOf(work) })
      }
    }
    for (const [at, state] of (await this.settled(taken)).entries()) {
      const { work } = taken[at] as Taken
      known.set(work.key, { work, state })
    }
    return known
  }

  private async settled(taken: readonly Taken[]): Promise<WorkState[]> {
    const courses = await this.courses(taken)
    const open = taken.flatMap(({ work, nodeId, since }, at) => {
      const course = courses[at] as Course
      const { engagement, conclusion } = course
      return !conclusion && mayHaveEnded(work, course) ? [{ at, nodeId, engagement, since }] : []
    })
    const endings = new Map<number, Ending>()
    for (const [n, ending] of await this.works.endings(this.database, open)) {
      endings.set((open[n] as (typeof open)[number]).at, ending)
    }
    const dead = open.filter(({ at }) => endings.get(at)?.status === 'dead')
    const faults = new Map<number, FaultText>()
    for (const [n, fault] of await this.works.faults(this.database, dead)) {
      faults.set((dead[n] as (typeof dead)[number]).at, fault)
    }
    return taken.map(({ work }, at) => stateOfCourse(work, courses[at] as Course, endings.get(at), faults.get(at)))
  }

  /** Follows each into its turn, and a resident's through tries and contexts. Few statements: most need one page of marks. */
  private async courses(taken: readonly Taken[]): Promise<Course[]> {
    const courses: (Course | undefined)[] = taken.map(() => undefined)
    let open = taken.map(({ nodeId, turn, since }, at) => ({ at, nodeId, turn, since }))
    while (open.length > 0) {
      const found = await this.works.marks(this.database, open)
      open = open.flatMap((one, n) => {
        const { at } = one
        const { work } = taken[at] as Taken
        const marks = found.get(n) ?? []
        const engagement = courses[at]?.engagement ?? marks[0]?.engagement ?? work.engagement
        const resident = work.node?.lifecycle === 'resident'
        const conclusion = resident ? conclusionOf(marks, engagement) : null
        courses[at] = { engagement, conclusion }
        const next = resident && !conclusion ? nextTurn(marks, engagement) : undefined
        return next === undefined ? [] : [{ ...one, turn: next }]
      })
    }
    return courses as Course[]
  }
}

/** A successor that has taken the mail over is another node, whose record is read from its beginning. */
const sinceOf = ({ mail, node_id, node_version, engagement }: WorkInHand): Since =>
  mail?.node_id === node_id ? { version: node_version, engagement } : { version: 0, engagement: 1 }

/** Where to read on when the page was full and all of it belonged to the same piece of work. */
const nextTurn = (marks: readonly TurnMark[], engagement: number): number | undefined => {
  const last = marks.at(-1)
  if (!last || marks.length < marksAtOnce || last.engagement !== engagement) return undefined
  return last.ended ? last.turn + 1 : last.turn
}

const shown = (key: string, known: { work: WorkInHand; state: WorkState } | undefined): Answer => ({
  key,
  state: known?.state.state ?? 'absent',
  node_id: known?.work.node_id ?? null,
  ended_at: known?.state.endedAt?.toISOString() ?? null,
  error: known?.state.error ?? null,
})
