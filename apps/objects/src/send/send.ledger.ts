import type { Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { TxContext, Writer } from '#common/kernel/database/writer.js'
import type { Acks } from '../delivery/ack.repository.js'
import { deliveryMachine } from '../delivery/delivery.machine.js'
import type { ReceiverRecord } from '../object/object.record.js'
import { receiverMachine } from '../object/receiver.machine.js'
import { raised } from '../relay/concerns.js'
import type { Outcome, Outgoing } from './carrier.js'
import { mostTries, nextAttempt } from './retry.schedule.js'
import type { Failure, Held, SendRepository, Standing } from './send.repository.js'

/** A delivery that was sent, or not. */
export interface Sent {
  readonly delivery: Outgoing
  readonly outcome: Outcome
}

type InVain = Sent & { readonly outcome: Extract<Outcome, { error: string }> }

/** How a receiver is let go. `all`: everything up to this number was sent. Else there is more, after a rest. */
export type LettingGo = { readonly all: number } | { readonly restUntil: Date | undefined }

/** Writes down what became of deliveries. Whoever does not hold their receiver any more writes nothing. */
export class SendLedger {
  constructor(
    private readonly writer: Writer,
    private readonly sending: SendRepository,
    private readonly acks: Acks,
    private readonly clock: Clock,
  ) {}

  /**
   * Acknowledges what arrived, and notes what didn't, with its next try. One that has no try left, or a receiver that is gone,
   * ends the sending until a person goes on with it.
   *
   * @returns whether the receiver is still held, and sent to
   */
  record(held: Held, to: Standing, sent: readonly Sent[]): Promise<boolean> {
    const acked = sent.flatMap(({ delivery, outcome }) => (outcome.kind === 'acked' ? [delivery.seq] : []))
    const inVain = sent.filter((one): one is InVain => 'error' in one.outcome)
    return this.writer.transact(systemContext('objects'), async (ctx) => {
      const { tx } = ctx
      const row = await this.sending.lockHeld(tx, held)
      if (!row) return false
      if (acked.length) await this.acks.acknowledge(tx, held.id, acked)
      if (inVain.length === 0) return row.status === 'active'
      const now = new Date(this.clock.now())
      const failures = inVain.map((one) => failureOf(one, now))
      const written = await this.sending.fail(tx, held.id, failures, now)
      const end = endOf(inVain, failures, written)
      // nobody looks after the mail of a node: what is dead of it stays so, and the rest goes on
      if (!end || to.name === null || givenUp(row)) return row.status === 'active'
      this.#giveUp(ctx, row, { ...to, name: to.name }, { now, ...end })
      return false
    })
  }

  /** @returns false when more has come in and the receiver is held still */
  letGo(held: Held, how: LettingGo): Promise<boolean> {
    return this.writer.transact(systemContext('objects'), async ({ tx }) => {
      const row = await this.sending.lockHeld(tx, held)
      if (!row) return true
      if ('all' in how) {
        if (row.status === 'active' && row.delivery_seq > how.all) return false
        this.sending.release(tx, held.id, {})
      } else {
        this.sending.release(tx, held.id, { again: new Date(this.clock.now()), restUntil: how.restUntil })
      }
      return true
    })
  }

  #giveUp(
    { tx }: TxContext,
    row: ReceiverRecord,
    { id, name, app_id }: { readonly id: string; readonly name: string; readonly app_id: string | null },
    { reason, why, now }: { readonly reason: 'dead' | 'gone'; readonly why: string; readonly now: Date },
  ): void {
    const next = receiverMachine.apply(row, 'give_up')
    const status_version = row.status_version + 1
    this.sending.setStatus(tx, { ...next, reason, paused_at: row.paused_at ?? now, status_version, due_at: null })
    tx.deliver(raised({ id, name, app_id, status_version }, { at: now, why, reason }))
  }
}

const failureOf = ({ delivery, outcome }: InVain, now: Date): Failure => {
  const asked = outcome.kind === 'failed' ? outcome.retryAfterMs : undefined
  const next = nextAttempt(delivery.attempt, { now: now.getTime(), ...(asked !== undefined && { asked }) })
  const before = delivery.attempt === 1 ? 'pending' : 'failed'
  const state = deliveryMachine.next(before, next ? 'fail' : 'exhaust')
  return {
    seq: delivery.seq,
    state: state as Failure['state'],
    attempt: delivery.attempt,
    next_attempt_at: next ?? null,
    last_error: outcome.error,
  }
}

/** Whether a person was told already. One that its owner paused is not: whoever resumes it would not hear of what is dead. */
const givenUp = ({ reason }: ReceiverRecord): boolean => reason === 'dead' || reason === 'gone'

/**
 * Whether nothing more is to be sent after these, and why.
 *
 * @param written numbers of those that were written down: what was acknowledged meanwhile is not dead
 */
const endOf = (
  inVain: readonly InVain[],
  failures: readonly Failure[],
  written: ReadonlySet<number>,
): { reason: 'dead' | 'gone'; why: string } | undefined => {
  const dead = failures.findIndex(({ seq, state }) => state === 'dead' && written.has(seq))
  if (dead >= 0) {
    const { delivery, outcome } = inVain[dead] as InVain
    return { reason: 'dead', why: `${delivery.event} (${delivery.id}) failed ${mostTries} times: ${outcome.error}` }
  }
  const gone = inVain.find(({ outcome }) => outcome.kind === 'gone')
  return gone && { reason: 'gone', why: gone.outcome.error }
}
