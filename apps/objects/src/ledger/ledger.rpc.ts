import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { LedgerService } from './ledger.service.js'

const read = contract['objects.ledger.read']

/** The part of the ledger that is about deliveries, as the bus asks for it. */
@Injectable()
export class LedgerRpc {
  constructor(@Inject(LedgerService) private readonly ledger: LedgerService) {}

  @Handles(read)
  read(ctx: Context, input: InputOf<typeof read>): Promise<OutputOf<typeof read>> {
    return this.ledger.read(ctx, input)
  }
}
