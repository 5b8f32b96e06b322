import { contract, type OutputOf } from '#common/contract/index.js'
import { watchableNodeEvents } from '#common/contract/object.schema.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import { type Clock, isoTime, pause } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import { hasCode } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { subjects } from '#common/kernel/subjects.js'
import type { Running } from '../objects.lifetime.js'
import type { FollowRepository } from './follow.repository.js'
import type { NodePublications } from './node.publications.js'

const read = contract['lifecycle.canvas.readEvents']
type Page = OutputOf<typeof read>

/** Ms after which it looks by itself: the live tail may lose what it tells. */
const lookEvery = 2000
/** Ms between two looks while an older transaction, or the fan-out, holds up what is there already. */
const pendingEvery = 20
const page = 200
const patience = 8000
const watchable = new Set<string>(watchableNodeEvents)

/**
 * Reads what nodes do, for those who watch them. The log of lifecycle is what counts, read behind a position that is moved in
 * the transaction that writes what was read: any number of processes follow, each event is told once, and one that was away
 * goes on where it stopped. The live tail says only when to look.
 */
export class CanvasFollower implements Running {
  #following: Promise<void> | undefined
  #again = false
  #stopped = true
  #failing = false
  #callOff: () => void = () => undefined
  #leave: () => void = () => undefined

  constructor(
    private readonly bus: Bus,
    private readonly database: Database,
    private readonly follow: FollowRepository,
    private readonly publications: NodePublications,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  start(): void {
    this.#stopped = false
    this.#leave = this.bus.subscribe<{ type: string }>(subjects.nodeEvents(), ({ payload }) => {
      if (watchable.has(payload.type)) this.look()
    })
    this.look()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#leave()
    this.#callOff()
    await this.#following
  }

  /**
   * Resolves when all that nodes had done before is written for those who watch them.
   *
   * @throws SvcError service_unavailable and the like, when lifecycle can't be asked; the signal's reason
   */
  async catchUp(signal: AbortSignal): Promise<void> {
    while (await this.#step()) signal.throwIfAborted()
  }

  /** Reads on until nothing is left. */
  look(): void {
    this.#again = true
    if (this.#stopped) return
    this.#following ??= this.#run().finally(() => {
      this.#following = undefined
      if (this.#again && !this.#failing) this.look()
      else this.#rest()
    })
  }

  #rest(): void {
    this.#callOff()
    if (!this.#stopped) this.#callOff = this.clock.after(lookEvery, () => this.look())
  }

  async #run(): Promise<void> {
    this.#again = false
    try {
      while (!this.#stopped && (await this.#step()));
      this.#failing = false
    } catch (err) {
      if (!this.#failing && !this.#stopped) this.log.warn({ err }, 'what nodes did could not be read; trying again')
      this.#failing = true
    }
  }

  /** Whether to go on at once. */
  async #step(): Promise<boolean> {
    const [since, position] = await Promise.all([
      this.follow.watchedSince(this.database),
      this.follow.position(this.database),
    ])
    if (since === undefined) {
      if (position !== null) await this.publications.forget(position)
      return false
    }
    const found = await this.#read(position, since)
    const moved = found.position !== position
    const outcome = moved ? await this.publications.write(position, found.events, found.position) : 'written'
    // what another process wrote meanwhile may be less
    if (outcome === 'overtaken' || (outcome === 'written' && found.more)) return true
    const waits = found.pending || outcome === 'held'
    if (waits) await pause(this.clock, pendingEvery)
    return waits
  }

  /** What nobody watched yet when it happened is passed over. */
  async #read(position: string | null, since: Date): Promise<Page> {
    const first = { since: isoTime(since.getTime()) }
    try {
      return await this.#ask(position === null ? first : { after: position })
    } catch (error) {
      if (position === null || !hasCode(error, 'cursor_expired')) throw error
      this.log.warn(
        { position, ...first },
        'the position in the events of nodes means nothing any more: they are read again from the oldest watch on',
      )
      return this.#ask(first)
    }
  }

  #ask(from: { after: string } | { since: string }): Promise<Page> {
    const asked = { ...from, types: [...watchableNodeEvents], limit: page }
    return this.bus.call(read, systemContext('objects'), asked, { timeout: patience })
  }
}
