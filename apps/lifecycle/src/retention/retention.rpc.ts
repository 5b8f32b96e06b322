import { Injectable } from '@nestjs/common'
import { contract, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import { RetentionService } from './retention.service.js'

const op = contract

/** What is kept, as the bus asks for it. */
@Injectable()
export class RetentionRpc {
  constructor(private readonly retention: RetentionService) {}

  @Handles(op['retention.show'])
  show(): Promise<OutputOf<(typeof op)['retention.show']>> {
    return this.retention.show()
  }
}
