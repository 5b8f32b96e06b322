import { Injectable } from '@nestjs/common'
import type { NodePlace } from '#common/contract/internal.operations.js'
import type { Authority } from '#common/contract/work.internal.js'
import type { Actor } from '#common/kernel/context.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import { covers, intersect } from '#common/kernel/scopes.js'
import { Ceilings } from '../grant/ceilings.js'
import type { Ceiling } from '../grant/grant.ceiling.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { WorktreeHomes } from '../worktree/worktree.home.js'

/** An authority as it stands at this moment. */
export interface Standing {
  readonly actor: Actor
  /** The node that it is bound to; null for the owner's and an app's. */
  readonly node: NodeRecord | null
}

/**
 * Turns an authority that was put down into the actor that a request of its principal would have now, with no more than
 * the token held that put it down.
 */
@Injectable()
export class Authorities {
  constructor(
    private readonly nodes: NodeRepository,
    private readonly ceilings: Ceilings,
    private readonly homes: WorktreeHomes,
  ) {}

  /**
   * @throws SvcError not_found (its node is gone), illegal_transition (its node was canceled), grant_revoked,
   * scope_missing (svc:schedule), service_unavailable while what its app was granted is not known here
   */
  async resolve(reader: Reader, by: Authority): Promise<Standing> {
    const node = by.kind === 'node' ? await this.nodeOf(reader, by.node_id) : null
    const appId = node ? node.app_id : by.app_id
    const profile = node ? node.profile : by.profile
    const held = node ? await this.ceilings.of(reader, node) : await this.heldBy(reader, by)
    const actor: Actor = {
      kind: by.kind,
      principal: by.principal,
      tokenId: null,
      scopes: intersect(by.scopes, scopesOf(held, appId)),
      ...(appId !== null && { appId }),
      ...(profile !== null && { profile }),
      ...(node && { nodeId: node.id, generation: node.generation, place: await this.placeOf(reader, node) }),
    }
    requireScope(actor, 'svc:schedule')
    return { actor, node }
  }

  private async nodeOf(reader: Reader, id: string | null): Promise<NodeRecord> {
    const node = id === null ? undefined : await this.nodes.find(reader, id)
    if (!node) throw new SvcError('not_found', 'The node that armed this is gone.', { resource: 'node', id })
    if (node.status === 'canceled') {
      throw new SvcError('illegal_transition', 'The node that armed this was canceled: it does nothing any more.', {
        state: node.status,
        event: 'spawn',
      })
    }
    return node
  }

  private async heldBy(reader: Reader, { kind, app_id, profile }: Authority): Promise<Ceiling> {
    if (kind === 'owner') return { state: 'granted', scopes: ['*'] }
    if (app_id === null) throw new SvcError('not_found', 'The app that armed this is gone.', { resource: 'app' })
    return this.ceilings.ofApp(reader, app_id, profile)
  }

  private async placeOf(reader: Reader, node: NodeRecord): Promise<NodePlace> {
    return { cwd: node.cwd, host_id: node.broker_host_id, git_dir: await this.homes.gitDirOf(reader, node) }
  }
}

const scopesOf = (held: Ceiling, appId: string | null): readonly string[] => {
  switch (held.state) {
    case 'granted':
      return held.scopes
    case 'revoked':
      throw new SvcError('grant_revoked', undefined, { app_id: appId })
    case 'unknown':
      throw new SvcError('service_unavailable', `What the app ${appId} was granted is not known here yet.`, {
        service: 'gateway',
      })
  }
}

/** @throws SvcError scope_missing */
export const requireScope = ({ scopes }: Actor, scope: string): void => {
  if (!covers(scopes, scope)) throw new SvcError('scope_missing', `This needs the scope ${scope}.`, { scope })
}
