import { monotonic, now, pause } from '#machine/clock.js'
import type { JournalEntry, MailEntry, NodesMailClaimResponse } from '#sdk/generated/types.js'
import type { DaemonClient } from '../daemon/daemon.client.js'
import { noteOf } from './mail.text.js'

const claimAtOnce = 100

/** Mail that comes within this long (ms) of each other becomes one turn; a stream of it is not waited out for longer than the second. */
const quietFor = 1000
const quietAtMost = 5000

const steers = ({ tier }: MailEntry): boolean => tier === 'urgent' || tier === 'critical'

/** Ids of mail that the journal shows as accepted. */
const acceptedMail = (journal: readonly JournalEntry[]): string[] =>
  journal.flatMap((entry) => {
    if (entry.type === 'turn_started') return entry.mail
    if (entry.type !== 'message') return []
    return entry.content.flatMap((part) => noteOf(part)?.mail ?? [])
  })

/** Ms until none of it came within the quiet window any more. */
const quietLeft = (mail: readonly MailEntry[]): number => {
  if (mail.length === 0 || mail.length >= claimAtOnce || mail.some(steers)) return 0
  const newest = Math.max(...mail.map(({ created_at }) => Date.parse(created_at)))
  return Math.min(quietFor, newest + quietFor - now())
}

/** The node's mail: each piece is handed to the engine once, however often it is delivered. */
export class Mailbox {
  readonly #accepted: Set<string>
  #first: MailEntry[]

  constructor(
    private readonly daemon: DaemonClient,
    first: readonly MailEntry[],
    journal: readonly JournalEntry[],
  ) {
    this.#accepted = new Set(acceptedMail(journal))
    this.#first = [...first]
  }

  /** What waits, as much as is given at once; a piece that a dead process took in, but couldn't acknowledge, is acknowledged now. */
  async take(signal?: AbortSignal): Promise<MailEntry[]> {
    const held = await this.#fresh(this.#first.splice(0), signal)
    return held.length ? held : this.#fresh(await this.#claim(false, signal), signal)
  }

  /**
   * As `take`, for a node that just ended a turn: waits until nothing more came for a moment, so that several messages
   * become one digest. Nothing that steers is waited with, nor is a full batch.
   */
  async takeDigest(signal?: AbortSignal): Promise<MailEntry[]> {
    const until = monotonic() + quietAtMost
    for (;;) {
      const left = quietLeft([...this.#first, ...(await this.#claim(false, signal))])
      if (left <= 0 || monotonic() >= until) return this.take(signal)
      await pause(left, signal)
      signal?.throwIfAborted()
    }
  }

  /** Only what steers a running turn. */
  async takeSteering(signal?: AbortSignal): Promise<MailEntry[]> {
    const held = this.#first.filter(steers)
    this.#first = this.#first.filter((mail) => !steers(mail))
    const claimed = await this.#claim(true, signal)
    return this.#fresh([...held, ...claimed.filter(({ id }) => !held.some((mail) => mail.id === id))], signal)
  }

  /** Whether critical mail waits that no turn has taken yet; what was looked at is held for whoever takes next. */
  async holdsCritical(signal?: AbortSignal): Promise<boolean> {
    const claimed = await this.#claim(true, signal)
    const known = new Set(this.#first.map(({ id }) => id))
    this.#first.push(...claimed.filter(({ id }) => !known.has(id) && !this.#accepted.has(id)))
    return this.#first.some(({ id, tier }) => tier === 'critical' && !this.#accepted.has(id))
  }

  /** The engine could not take it any more: it waits for the next turn. */
  putBack(mail: readonly MailEntry[]): void {
    for (const { id } of mail) this.#accepted.delete(id)
    this.#first.push(...mail)
  }

  /** The engine has accepted it, and the journal says so already: an acknowledgement that is lost is made good later. */
  async acknowledge(mail: readonly MailEntry[]): Promise<void> {
    if (mail.length) await this.daemon.post('mail/acknowledge', { ids: mail.map(({ id }) => id) })
  }

  async #claim(steering: boolean, signal?: AbortSignal): Promise<MailEntry[]> {
    const options = signal ? { signal } : {}
    const { mail } = await this.daemon.post<NodesMailClaimResponse>(
      'mail/claim',
      { limit: claimAtOnce, steering },
      options,
    )
    return mail
  }

  async #fresh(mail: readonly MailEntry[], signal?: AbortSignal): Promise<MailEntry[]> {
    const known = mail.filter(({ id }) => this.#accepted.has(id))
    if (known.length) await this.acknowledge(known)
    signal?.throwIfAborted()
    const fresh = mail.filter(({ id }) => !this.#accepted.has(id))
    for (const { id } of fresh) this.#accepted.add(id)
    return fresh
  }
}
