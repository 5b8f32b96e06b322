import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { LedgerService } from './ledger.service.js'

const op = contract

/** The scheduler's part of the ledger, as the bus asks for it. */
@Injectable()
export class LedgerRpc {
  constructor(private readonly ledger: LedgerService) {}

  @Handles(op['scheduler.ledger.read'])
  read(
    ctx: Context,
    input: InputOf<(typeof op)['scheduler.ledger.read']>,
  ): Promise<OutputOf<(typeof op)['scheduler.ledger.read']>> {
    return this.ledger.read(ctx, input)
  }
}
