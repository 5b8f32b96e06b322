import { createHmac, timingSafeEqual } from 'node:crypto'
import { Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import { NODE_TOKEN_KEY } from '../supervision/launcher.js'

/** How long (ms) a ticket is good, if its process hosts the node that long. */
const goodFor = 24 * 3_600_000

const form = /^(\d{1,15})\.([\w-]{43})$/

/**
 * Proof that the owner attached to one generation of a node. It is derived, not stored: any writer can check what another
 * one gave. A broker can't make one, nor can what runs in its node, which holds the same token as the broker.
 */
@Injectable()
export class ViewerTickets {
  constructor(
    @Inject(NODE_TOKEN_KEY) private readonly key: Buffer,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  give(nodeId: string, generation: number): { ticket: string; expiresAt: number } {
    const expiresAt = this.clock.now() + goodFor
    return { ticket: `${expiresAt}.${this.signed(nodeId, generation, expiresAt)}`, expiresAt }
  }

  /** @throws SvcError owner_required for a ticket of another node or generation, an old one, or anything else */
  require(ticket: string, nodeId: string, generation: number): void {
    const [, until, given = ''] = form.exec(ticket) ?? []
    const expected = this.signed(nodeId, generation, Number(until))
    const same = given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))
    if (same && Number(until) > this.clock.now()) return
    throw new SvcError('owner_required', 'The ticket is not good for this node, or not any more: attach again.')
  }

  private signed(nodeId: string, generation: number, until: number): string {
    return createHmac('sha256', this.key).update(`viewer:${nodeId}:${generation}:${until}`).digest('base64url')
  }
}
