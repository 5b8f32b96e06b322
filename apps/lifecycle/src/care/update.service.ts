import { isDeepStrictEqual } from 'node:util'
import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type Node } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { ModelCheck } from '../node/model-check.js'
import { NodeAccess } from '../node/node.access.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { requireLegal } from '../node/node.rules.js'
import { NodeService } from '../node/node.service.js'
import { NodeChanges } from './node.changes.js'

const update = contract['nodes.update']
type Update = InputOf<typeof update>

/** Those fields of a change that say something else than the row does. */
const changesOf = (node: NodeRecord, { name, description, lifecycle, model }: Update): Partial<NodeRecord> => {
  // as it is read back
  const wanted = JSON.parse(JSON.stringify({ name, description, lifecycle, model })) as Partial<NodeRecord>
  const differs = ([field, value]: [string, unknown]) => !isDeepStrictEqual(node[field as keyof NodeRecord], value)
  return Object.fromEntries(Object.entries(wanted).filter(differs))
}

/** Changes what a person or another node may say of a node. */
@Injectable()
export class UpdateService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly access: NodeAccess,
    private readonly models: ModelCheck,
    private readonly changes: NodeChanges,
    private readonly shown: NodeService,
  ) {}

  /** @throws SvcError not_found, illegal_transition (canceled), precondition_failed, model_not_configured, quota_exceeded */
  async update(ctx: Context, input: Update): Promise<Node> {
    const refusal =
      input.model && (await this.models.refusal(ctx, await this.nodes.get(this.database, input.id), input.model))
    return this.writer.transact(ctx, async (within) => {
      const before = await this.nodes.lock(within.tx, input.id)
      await this.access.requireOwn(ctx, within.tx, before)
      requireLegal(before.status, 'update')
      const changed = changesOf(before, input)
      // a repetition finds what it changed: nothing is lost by answering it
      if (Object.keys(changed).length === 0) return this.shown.show(before)
      if (input.if_match !== undefined && input.if_match !== before.version) {
        throw new SvcError('precondition_failed', undefined, { version: before.version })
      }
      if (refusal && changed.model) throw refusal
      const node = this.changes.apply(within, before, changed)
      within.tx.emit({ nodeId: node.id, type: 'node.updated', data: { changed } })
      return this.shown.show(changed.lifecycle ? await this.changes.tellLifecycle(within, node) : node)
    })
  }
}
