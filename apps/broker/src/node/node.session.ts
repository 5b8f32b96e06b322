import type {
  Assignment,
  JournalEntry,
  NodesBrokerDeltasResponse,
  NodesBrokerReadJournalResponse,
} from '#sdk/generated/types.js'
import { DaemonClient } from '../daemon/daemon.client.js'
import { DeltaFeed } from '../daemon/delta.feed.js'
import { Ended } from '../daemon/endings.js'
import { type Entry, JournalClient, type Next } from '../daemon/journal.client.js'
import { type Changed, SignalFeed } from '../daemon/signal.feed.js'
import type { Serve } from '../host-link.js'
import type { ToolProcesses } from '../process/tool-process.js'
import type { ViewerDesk } from '../viewer/viewer.desk.js'
import { Mailbox } from './mailbox.js'

/** Why a running turn is aborted, other than by the end of this broker. */
export class Interrupted extends Error {}

/** One binding of this process to its node: all that an engine works with. */
export class NodeSession {
  readonly journal: JournalClient
  readonly mailbox: Mailbox
  readonly deltas: DeltaFeed
  /** Entries so far, oldest first: what was recorded before, then what this process appended. */
  readonly history: JournalEntry[]
  /** Whether mail waits that steers the running turn. */
  steering = false
  /** Those who watch at the socket of this process. */
  viewers: Pick<ViewerDesk, 'recorded'> | undefined
  readonly #ended = new AbortController()
  #turn = new AbortController()
  #turnNumber = 0
  #mailWaits = Promise.withResolvers<void>()
  readonly #signals: SignalFeed

  private constructor(
    readonly serve: Serve,
    private given: Assignment,
    readonly daemon: DaemonClient,
    readonly processes: ToolProcesses,
  ) {
    this.history = given.journal.map(({ entry }) => entry)
    this.journal = new JournalClient(daemon, given.next_ord)
    this.mailbox = new Mailbox(daemon, given.mail, this.history)
    this.deltas = new DeltaFeed(serve.generation, (deltas) =>
      daemon.postOnce<NodesBrokerDeltasResponse>('broker/deltas', { deltas }),
    )
    this.#signals = new SignalFeed(daemon, {
      onMail: (mail) => this.#onMail(mail),
      onInterrupt: (turn) => this.#onInterrupt(turn),
      onStop: (reason) => this.end(new Ended(reason)),
      onChanged: ({ type: _, ...now }) => this.change(now),
    })
  }

  /** @throws Ended, when this process is not to host the node. */
  static async bind(serve: Serve, processes: ToolProcesses, version: string): Promise<NodeSession> {
    const daemon = new DaemonClient({ baseUrl: serve.base_url, token: serve.token, nodeId: serve.node_id })
    const { host_id, started_at } = serve
    const assignment = await daemon.post<Assignment>('broker/bind', { host_id, pid: process.pid, started_at, version })
    const journal = [...assignment.journal]
    for (;;) {
      const from = assignment.first_ord + journal.length
      if (from >= assignment.next_ord) break
      const path = `broker/journal?from=${from}`
      const page = await daemon.get<NodesBrokerReadJournalResponse>(path)
      journal.push(...page.journal)
    }
    return new NodeSession(serve, { ...assignment, journal }, daemon, processes)
  }

  /** What the node is and owes, as of now: its owner may change parts of it while it works. */
  get assignment(): Assignment {
    return this.given
  }

  /** What the node is from now on. */
  change(now: Partial<Omit<Changed, 'type'>>): void {
    this.given = { ...this.given, ...now }
  }

  /** Fires, with the reason, when this broker must leave its node. */
  get ended(): AbortSignal {
    return this.#ended.signal
  }

  /** Fires when the running turn is to be aborted: by an interrupt, by critical mail, or by the end of the broker. */
  get turnSignal(): AbortSignal {
    return this.#turn.signal
  }

  /** Between two turns: mail that is announced from now on steers the next one. */
  restTurn(): void {
    this.steering = false
    this.daemon.trace = undefined
  }

  /**
   * A turn begins: what aborted the one before doesn't concern it.
   *
   * @param trace of what it comes of, which all that it asks goes on with
   */
  beginTurn(turn: number, trace?: string): void {
    this.#turnNumber = turn
    this.daemon.trace = trace
    this.#turn = new AbortController()
    if (this.#ended.signal.aborted) this.#turn.abort(this.#ended.signal.reason)
  }

  async append(...entries: Entry[]): Promise<Next> {
    this.ended.throwIfAborted()
    const next = await this.journal.append(...entries)
    this.history.push(...(entries as JournalEntry[]))
    this.viewers?.recorded(entries, this.journal.position - entries.length)
    return next
  }

  /** Resolves when mail was announced since the last call; rejects when the broker is to end. */
  async mailAnnounced(): Promise<void> {
    this.#signals.open()
    const stopped = Promise.withResolvers<never>()
    const stop = (): void => stopped.reject(this.ended.reason)
    if (this.ended.aborted) stop()
    this.ended.addEventListener('abort', stop, { once: true })
    try {
      await Promise.race([this.#mailWaits.promise, stopped.promise])
    } finally {
      this.ended.removeEventListener('abort', stop)
    }
    this.#mailWaits = Promise.withResolvers<void>()
  }

  /** Ends the turn and everything that waits. */
  end(reason: Error): void {
    this.#ended.abort(reason)
    this.#turn.abort(reason)
  }

  /** Lets go of the daemon's streams. */
  close(): void {
    this.#signals.close()
    this.deltas.close()
  }

  /** One that comes late is meant for a turn that has ended by itself. */
  #onInterrupt(turn: number): void {
    if (turn >= this.#turnNumber) this.#turn.abort(new Interrupted('interrupted'))
  }

  #onMail({ urgent, critical }: { urgent: boolean; critical: boolean }): void {
    if (urgent || critical) this.steering = true
    this.#mailWaits.resolve()
    if (critical && this.assignment.engine === 'loop') void this.#overtake()
  }

  /** What is announced may be the very mail that the running turn began with: only mail that still waits aborts it. */
  async #overtake(): Promise<void> {
    try {
      if (!(await this.mailbox.holdsCritical(this.ended))) return
      this.#turn.abort(new Interrupted('a critical message came'))
      // Whoever looked meanwhile found nothing, since it is held here.
      this.#mailWaits.resolve()
    } catch (error) {
      this.end(error as Error)
    }
  }
}
