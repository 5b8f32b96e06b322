import { Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock, pause } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { HistoryQueue } from './history.queue.js'
import { type IndexedNode, IndexRepository } from './index.repository.js'
import { roundOf } from './index.round.js'

/** Raised whenever passages are cut or marked in another way: every node's are written anew then, one after the other. */
export const indexVersion = 1

/** How long (ms) news wait for company, and a failed round for the next try. */
const gatherMs = 500
const retryMs = 2000
/** Nodes of one transaction. */
const batch = 32
/** A look at all nodes, in steps: finds what nobody told of. */
const sweepMs = 5 * 60_000
const sweepStep = 2000

/**
 * Writes what nodes say into the index of history, behind their work and never in its way. Each round is one transaction
 * with the positions that it reached: a crash repeats nothing and skips nothing. Runs while this process leads.
 */
@Injectable()
export class HistoryIndexer {
  private stopping = new AbortController()
  private running: Promise<void> = Promise.resolve()
  private wake: () => void = () => undefined
  private working = false
  /** Until where the look at all nodes has come; null when it rests. */
  private sweptTo: string | null = ''
  private sweepAt = 0

  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly repository: IndexRepository,
    private readonly queue: HistoryQueue,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {
    queue.onAdded(() => this.wake())
  }

  /** Whether text may be missing from the index. */
  get isBehind(): boolean {
    return this.queue.size > 0 || this.working
  }

  start(): void {
    this.stopping = new AbortController()
    this.sweptTo = ''
    this.running = this.run(this.stopping.signal)
  }

  /** Resolves when nothing of it runs any more. */
  async stop(): Promise<void> {
    this.stopping.abort()
    this.wake()
    await this.running
    this.queue.forget()
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (await this.round()) continue
        await this.news(signal)
      } catch (err) {
        this.log.warn({ err }, 'what nodes said could not be indexed; trying again')
        this.sweptTo ??= ''
        await pause(this.clock, retryMs, signal)
      }
    }
  }

  /** One batch; answers whether there may be more. */
  private async round(): Promise<boolean> {
    const ids = this.queue.take(batch)
    if (ids.length === 0) return this.sweep()
    this.working = true
    const started = this.clock.monotonic()
    try {
      const unfinished = await this.index(ids)
      for (const id of unfinished) this.queue.add(id)
      if (unfinished.length === 0 && this.queue.size < batch) return false
    } finally {
      this.working = false
    }
    // with much to catch up on, half of the time is left to everybody else
    await pause(this.clock, this.clock.monotonic() - started, this.stopping.signal)
    return true
  }

  /** Indexes what is new of these nodes, as much as one round takes; answers those that have more. */
  async index(ids: readonly string[]): Promise<string[]> {
    return this.writer.transact(systemContext('lifecycle'), async ({ tx }) => {
      const held = await this.repository.hold(tx, ids)
      if (held.length === 0) return []
      const stale = held.filter((node) => node.version !== indexVersion)
      this.repository.forget(
        tx,
        stale.filter((node) => node.version !== 0).map((node) => node.id),
      )
      const nodes = held.map((node) => (stale.includes(node) ? anew(node) : node))
      const [journal, mail, reports, usage] = await Promise.all([
        this.repository.journal(tx, nodes),
        this.repository.mail(tx, nodes),
        this.repository.reports(tx, nodes),
        this.repository.usage(tx, nodes),
      ])
      const round = roundOf(nodes, { journal, mail, reports, usage }, (rows) => this.repository.isFull(rows))
      this.repository.insert(tx, round.passages, new Map(nodes.map((node) => [node.id, node])))
      this.repository.add(tx, round.deeds)
      this.repository.save(tx, round.nodes)
      return round.nodes.filter(isBehind).map((node) => node.id)
    })
  }

  /** One step of the look at all nodes, when it is due. */
  private async sweep(): Promise<boolean> {
    if (this.sweptTo === null) {
      if (this.clock.monotonic() < this.sweepAt) return false
      this.sweptTo = ''
    }
    const { ids, last } = await this.repository.behind(this.database, this.sweptTo, indexVersion, sweepStep)
    for (const id of ids) this.queue.add(id)
    this.sweptTo = last
    if (last === null) this.sweepAt = this.clock.monotonic() + sweepMs
    return true
  }

  /** Waits until there is news, and then for a moment until there is more of it. */
  private async news(signal: AbortSignal): Promise<void> {
    if (this.queue.size === 0) {
      await new Promise<void>((resolve) => {
        const callOff = this.clock.after(Math.max(0, this.sweepAt - this.clock.monotonic()), resolve)
        this.wake = () => {
          callOff()
          resolve()
        }
        if (signal.aborted) this.wake()
      })
      this.wake = () => undefined
    }
    await pause(this.clock, gatherMs, signal)
  }
}

const anew = (node: IndexedNode): IndexedNode => ({
  ...node,
  version: indexVersion,
  journal_ord: node.copied_ord,
  mail_seq: 0,
  report_ord: 0,
})

const isBehind = (node: IndexedNode): boolean =>
  node.journal_ord < node.head_ord || node.mail_seq < node.head_mail || node.event_seq < node.head_event
