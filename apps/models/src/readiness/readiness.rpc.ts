import { Inject, Injectable } from '@nestjs/common'
import { contract } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import { type Readiness, ReadinessService } from './readiness.service.js'

@Injectable()
export class ReadinessRpc {
  constructor(@Inject(ReadinessService) private readonly readiness: ReadinessService) {}

  @Handles(contract['models.readiness'])
  probed(): Promise<Readiness> {
    return this.readiness.probed()
  }

  @Handles(contract['models.ready'])
  known(): Promise<Readiness> {
    return this.readiness.known()
  }
}
