import { Injectable } from '@nestjs/common'
import type { Reader } from '#common/kernel/database/tx.js'
import type { NodeRecord } from '../node/node.record.js'
import { type Ceiling, ceilingOf } from './grant.ceiling.js'
import { GrantRepository } from './grant.repository.js'

type Held = Pick<NodeRecord, 'id' | 'app_id' | 'profile' | 'scopes'>

/** What nodes may do now, by their own lists and the grants of their apps. */
@Injectable()
export class Ceilings {
  constructor(private readonly grants: GrantRepository) {}

  async of(reader: Reader, node: Held): Promise<Ceiling> {
    return (await this.ofAll(reader, [node])).get(node.id) as Ceiling
  }

  /** By node; one statement for all of them, none when no app is among them. */
  async ofAll(reader: Reader, nodes: readonly Held[]): Promise<Map<string, Ceiling>> {
    const appIds = new Set(nodes.flatMap(({ app_id }) => (app_id === null ? [] : [app_id])))
    const grants = await this.grants.findAll(reader, [...appIds])
    return new Map(nodes.map((node) => [node.id, ceilingOf(node, grants.get(node.app_id ?? ''))]))
  }

  /** What an app may do by itself, for one profile where it is confined to that. */
  async ofApp(reader: Reader, appId: string, profile: string | null): Promise<Ceiling> {
    const grant = (await this.grants.findAll(reader, [appId])).get(appId)
    return ceilingOf({ app_id: appId, profile, scopes: grant?.scopes ?? [] }, grant)
  }

  /** What an app was granted, as the gateway told it last. */
  async grantedTo(reader: Reader, appId: string): Promise<string[]> {
    return [...((await this.grants.findAll(reader, [appId])).get(appId)?.scopes ?? [])]
  }

  /** What it may do; nothing while its app may do nothing. */
  async scopesOf(reader: Reader, node: Held): Promise<readonly string[]> {
    const ceiling = await this.of(reader, node)
    return ceiling.state === 'granted' ? ceiling.scopes : []
  }
}
