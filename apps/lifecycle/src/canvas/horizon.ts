import { Injectable } from '@nestjs/common'
import type { Context } from '#common/kernel/context.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { NodeAccess } from '../node/node.access.js'
import { NodeRepository } from '../node/node.repository.js'

/** Which nodes a view is about; all of them when nothing is set. */
export interface Horizon {
  readonly appId?: string
  /** Of that app, those of one profile. */
  readonly profile?: string | undefined
  /** One whole tree. */
  readonly rootId?: string
  /** Part of a tree: these nodes; `rootId` is given, too. */
  readonly ids?: readonly string[]
}

/** Confines what is shown to what the caller may see and has asked for. */
@Injectable()
export class Horizons {
  constructor(
    private readonly nodes: NodeRepository,
    private readonly access: NodeAccess,
  ) {}

  /** @throws SvcError not_found */
  async of(ctx: Context, reader: Reader, under?: string): Promise<Horizon> {
    const { kind, nodeId, appId, profile } = ctx.actor
    const top = under ?? (kind === 'node' ? nodeId : undefined)
    if (top === undefined) return kind === 'owner' || kind === 'system' ? {} : { appId: appId ?? '', profile }
    const node = await this.nodes.get(reader, top)
    await this.access.requireOwn(ctx, reader, node)
    if (node.id === node.root_id) return { rootId: node.id }
    return { rootId: node.root_id, ids: [node.id, ...(await this.nodes.below(reader, node.id))] }
  }

  /** The same by nodes and trees alone: what is remembered of the past knows no profiles. @throws SvcError not_found */
  async ofPast(ctx: Context, reader: Reader, under?: string): Promise<Horizon> {
    const { profile, ...horizon } = await this.of(ctx, reader, under)
    if (profile === undefined || horizon.appId === undefined) return horizon
    return { ...horizon, ids: await this.nodes.ofProfile(reader, horizon.appId, profile) }
  }
}

/** Conditions on the columns of a table that has them, and their values put into the statement's. */
export const within = (horizon: Horizon, put: (value: unknown) => string, table: string, id = 'id'): string[] => [
  ...(horizon.appId === undefined ? [] : [`${table}.app_id = ${put(horizon.appId)}`]),
  ...(horizon.profile === undefined ? [] : [`${table}.profile = ${put(horizon.profile)}`]),
  ...(horizon.rootId === undefined || horizon.ids ? [] : [`${table}.root_id = ${put(horizon.rootId)}`]),
  ...(horizon.ids === undefined ? [] : [`${table}.${id} = ANY (${put(horizon.ids)}::text[])`]),
]
