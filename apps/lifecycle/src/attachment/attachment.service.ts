import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { SvcError } from '#common/kernel/errors.js'
import { NodeAccess } from '../node/node.access.js'
import { NodeRepository } from '../node/node.repository.js'
import { AttachmentRepository } from './attachment.repository.js'

const retrieve = contract['nodes.attachments.retrieve']

/** What the messages and reports of a node carry. */
@Injectable()
export class AttachmentService {
  constructor(
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly access: NodeAccess,
    private readonly attachments: AttachmentRepository,
  ) {}

  /** @throws SvcError not_found, also for an attachment of another node */
  async retrieve(ctx: Context, input: InputOf<typeof retrieve>): Promise<OutputOf<typeof retrieve>> {
    await this.access.requireReadable(ctx, this.database, await this.nodes.get(this.database, input.id))
    const found = await this.attachments.find(this.database, input.id, input.attachment_id)
    if (!found) {
      throw new SvcError('not_found', `There is no attachment ${input.attachment_id} of this node.`, {
        resource: 'attachment',
        id: input.attachment_id,
      })
    }
    return { name: found.name, content_type: found.content_type, base64: found.content.toString('base64') }
  }
}
