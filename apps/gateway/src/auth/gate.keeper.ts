import { Inject, Injectable } from '@nestjs/common'
import { gatesOf, type Operation } from '#common/contract/define.js'
import type { Actor } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { NodePrincipals } from '../tokens/node.principals.js'
import { passGates } from './gate.js'

/** What a node does for itself, but not without the grant of its app: it thinks at a price that somebody pays. */
const onTheGrant: ReadonlySet<string> = new Set(['nodes.broker.modelCall'])

/** Decides whether an actor may ask for an operation: when it asks, and again for as long as it is answered. */
@Injectable()
export class GateKeeper {
  constructor(@Inject(NodePrincipals) private readonly principals: NodePrincipals) {}

  /**
   * @param nodeId the node that the path names.
   * @throws SvcError of `passGates`; `grant_revoked`.
   */
  async admit(entry: Operation, actor: Actor, nodeId: string | undefined): Promise<void> {
    const generation = async (id: string, fresh: boolean): Promise<number> =>
      (await this.principals.of(id, fresh)).generation
    if (actor.grantRevoked && onTheGrant.has(entry.name)) {
      throw new SvcError('grant_revoked', undefined, { app_id: actor.appId })
    }
    await passGates(gatesOf(entry), actor, nodeId, generation)
  }
}
