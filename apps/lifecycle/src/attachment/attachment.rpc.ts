import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Handles } from '#common/kernel/bus/handles.decorator.js'
import type { Context } from '#common/kernel/context.js'
import { AttachmentService } from './attachment.service.js'

const op = contract

/** Attachments, as the bus asks for them. */
@Injectable()
export class AttachmentRpc {
  constructor(private readonly attachments: AttachmentService) {}

  @Handles(op['nodes.attachments.retrieve'])
  retrieve(
    ctx: Context,
    input: InputOf<(typeof op)['nodes.attachments.retrieve']>,
  ): Promise<OutputOf<(typeof op)['nodes.attachments.retrieve']>> {
    return this.attachments.retrieve(ctx, input)
  }
}
