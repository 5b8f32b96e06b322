import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { version } from '#common/kernel/version.js'
import { HOST_PLACE, type HostPlace } from '../host.place.js'
import { BrokerService } from './broker.service.js'

/** The commands that lifecycle gives this host. */
@Injectable()
export class BrokerHandlers {
  constructor(
    @Inject(BrokerService) private readonly brokers: BrokerService,
    @Inject(HOST_PLACE) private readonly place: HostPlace,
  ) {}

  @Handles(contract['host.broker.launch'])
  launch(_ctx: Context, input: InputOf<(typeof contract)['host.broker.launch']>) {
    return this.brokers.launch(input)
  }

  @Handles(contract['host.broker.stop'])
  stop(_ctx: Context, input: InputOf<(typeof contract)['host.broker.stop']>) {
    return this.brokers.stop(input.node_id, input.generation, input.grace_ms)
  }

  @Handles(contract['host.broker.attach'])
  attach(_ctx: Context, { node_id, generation }: InputOf<(typeof contract)['host.broker.attach']>) {
    return this.brokers.attach(node_id, generation)
  }

  @Handles(contract['host.report'])
  async report() {
    const { hostId: host_id, incarnation, cap } = this.place
    return {
      host_id,
      incarnation,
      version,
      live: this.brokers.live,
      warm: this.brokers.warm,
      cap,
      brokers: this.brokers.hosted(),
    }
  }
}
