import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type ItemOf, type OutputOf } from '#common/contract/index.js'
import { Handles, Streams } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { MailService } from '../mail/mail.service.js'
import { BindService } from './bind.service.js'
import { DeltaService } from './delta.service.js'
import { JournalService } from './journal.service.js'
import { SignalService } from './signal.service.js'

const op = contract

/** The control plane of brokers, as the bus asks for it. */
@Injectable()
export class BrokerRpc {
  constructor(
    private readonly binding: BindService,
    private readonly journal: JournalService,
    private readonly mail: MailService,
    private readonly deltas: DeltaService,
    private readonly signals: SignalService,
  ) {}

  @Handles(op['nodes.broker.bind'])
  bind(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.broker.bind']>,
  ): Promise<OutputOf<(typeof op)['nodes.broker.bind']>> {
    return this.binding.bind(ctx, input)
  }

  @Handles(op['nodes.broker.journal'])
  append(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.broker.journal']>,
  ): Promise<OutputOf<(typeof op)['nodes.broker.journal']>> {
    return this.journal.append(ctx, input)
  }

  @Handles(op['nodes.broker.readJournal'])
  read(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.broker.readJournal']>,
  ): Promise<OutputOf<(typeof op)['nodes.broker.readJournal']>> {
    return this.journal.read(ctx, input)
  }

  @Handles(op['nodes.mail.claim'])
  claim(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.mail.claim']>,
  ): Promise<OutputOf<(typeof op)['nodes.mail.claim']>> {
    return this.mail.claim(ctx, input)
  }

  @Handles(op['nodes.mail.acknowledge'])
  acknowledge(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.mail.acknowledge']>,
  ): Promise<OutputOf<(typeof op)['nodes.mail.acknowledge']>> {
    return this.mail.acknowledge(ctx, input)
  }

  @Handles(op['nodes.broker.deltas'])
  publish(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.broker.deltas']>,
  ): Promise<OutputOf<(typeof op)['nodes.broker.deltas']>> {
    return this.deltas.publish(ctx, input)
  }

  @Handles(op['lifecycle.node.inProgress'])
  inProgress(
    ctx: Context,
    input: InputOf<(typeof op)['lifecycle.node.inProgress']>,
  ): Promise<OutputOf<(typeof op)['lifecycle.node.inProgress']>> {
    return this.deltas.inProgress(ctx, input)
  }

  @Streams(op['nodes.broker.signals'])
  follow(
    ctx: Context,
    { id }: InputOf<(typeof op)['nodes.broker.signals']>,
  ): AsyncIterable<ItemOf<(typeof op)['nodes.broker.signals']>> {
    return this.signals.follow(ctx, id)
  }
}
