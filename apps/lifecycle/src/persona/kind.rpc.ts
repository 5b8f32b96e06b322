import { Injectable } from '@nestjs/common'
import { contract, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import { KindService } from './kind.service.js'

const list = contract['kinds.list']

/** Kinds, as the bus asks for them. */
@Injectable()
export class KindRpc {
  constructor(private readonly kinds: KindService) {}

  @Handles(list)
  list(): Promise<OutputOf<typeof list>> {
    return this.kinds.list()
  }
}
