import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type LedgerEntry, type OutputOf } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import type { Context } from '#common/kernel/context.js'
import { readCursor } from '#common/kernel/database/cursor.js'
import { isSvcError } from '#common/kernel/errors.js'
import { pageOfParts } from './ledger.merge.js'

const list = contract['ledger.list']
const parts = [
  contract['lifecycle.ledger.read'],
  contract['scheduler.ledger.read'],
  contract['objects.ledger.read'],
] as const
type Part = (typeof parts)[number]

/** How long a service has to answer before it counts as absent (ms). */
const patience = 3000

/** What did not happen as planned, of all services. Each shows the caller only what that one may see. */
@Injectable()
export class LedgerService {
  constructor(@Inject(Bus) private readonly bus: Bus) {}

  /** @throws SvcError validation_failed, and whatever a service answers but that it is not there */
  async list(ctx: Context, { limit, after, ...filters }: InputOf<typeof list>): Promise<OutputOf<typeof list>> {
    const position = readCursor(after)
    const before = position ? { at: position.createdAt.toISOString(), id: position.id } : null
    const asked = { ...filters, before, limit: limit + 1 }
    const answers = await Promise.all(parts.map((part) => this.#ask(part, ctx, asked)))
    return {
      ...pageOfParts(
        answers.map((entries) => entries ?? []),
        limit,
      ),
      absent: parts.filter((_, at) => answers[at] === undefined).map(({ service }) => service),
    }
  }

  /** Answers undefined when the service is absent. */
  async #ask(part: Part, ctx: Context, input: InputOf<Part>): Promise<readonly LedgerEntry[] | undefined> {
    try {
      return (await this.bus.call(part, ctx, input, { timeout: patience })).entries
    } catch (error) {
      if (isAbsence(error)) return undefined
      throw error
    }
  }
}

const isAbsence = (error: unknown): boolean =>
  isSvcError(error) && (error.facts.kind === 'unavailable' || error.facts.kind === 'deadline')
