import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { consentSentence, type SandboxState } from '#common/contract/sandbox.operations.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { HostRegistry } from '../supervision/host.registry.js'
import { ConsentRepository } from './consent.repository.js'

const consent = contract['sandbox.consent']
const revoke = contract['sandbox.revoke']
type Status = OutputOf<(typeof contract)['sandbox.get']>

/** How hosts hold programs, and the owner's consent to running them where none holds them. */
@Injectable()
export class SandboxService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly consents: ConsentRepository,
    private readonly hosts: HostRegistry,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  async read(): Promise<Status> {
    const given = await this.consents.standing(this.database)
    return {
      hosts: this.hosts.present().map(({ host_id, sandbox }) => ({ host_id, ...sandbox })),
      sentence: consentSentence,
      consent: given && { words: given.words, by: given.given_by, at: given.given_at.toISOString() },
    }
  }

  /** What a host is told: one that holds its programs needs no consent, and costs no look. */
  async consentedOn(level: SandboxState['level']): Promise<boolean> {
    return level === 'none' && (await this.consents.standing(this.database)) !== null
  }

  /** @throws SvcError validation_failed for other words: nobody agrees to what they didn't read. */
  async consent(ctx: Context, input: InputOf<typeof consent>): Promise<Status> {
    if (input.words !== consentSentence) {
      const message = `must be, word for word: ${consentSentence}`
      throw new SvcError('validation_failed', undefined, { errors: [{ pointer: '/words', message }] })
    }
    const given_by = ctx.actor.principal
    await this.writer.once(ctx, { operation: consent.name, input }, async ({ tx }) =>
      this.consents.give(tx, { words: input.words, given_by, given_at: new Date(this.clock.now()) }),
    )
    this.log.warn({ by: given_by }, 'the owner consented to running programs of nodes without a sandbox')
    return this.read()
  }

  async revoke(ctx: Context): Promise<Status> {
    const { principal } = ctx.actor
    await this.writer.once(ctx, { operation: revoke.name, input: {} }, async ({ tx }) =>
      this.consents.revoke(tx, principal, new Date(this.clock.now())),
    )
    this.log.warn({ by: principal }, 'the owner took the consent to running without a sandbox back')
    return this.read()
  }
}
