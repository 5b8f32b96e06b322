import { Injectable } from '@nestjs/common'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import type { NodeRecord } from '../node/node.record.js'
import { type Family, NodeRepository } from '../node/node.repository.js'
import type { Watch } from './closing.set.js'

/** A node with all below it and its own subscribers, all locked. */
export interface Kin {
  readonly family: Family
  readonly below: readonly NodeRecord[]
  /** Who watches which of the nodes below, but for watchers that were canceled: those hear nothing any more. */
  readonly watches: readonly Watch[]
}

/** Reads and locks whole subtrees. */
@Injectable()
export class KinRepository {
  constructor(private readonly nodes: NodeRepository) {}

  /**
   * Locks in id order, and looks again under the locks: whoever makes a child or a subscription locks the nodes that it
   * concerns, so what is complete then stays so. Locks that were not enough are let go before more are taken, so that
   * two transactions never wait for each other.
   *
   * @throws SvcError not_found
   */
  async lock(tx: Tx, id: string, also: readonly string[] = []): Promise<Kin> {
    for (let wanted = [...(await this.idsOf(tx, id)), ...also]; ; ) {
      await tx.query('SAVEPOINT kin')
      const rows = await this.nodes.lockAll(tx, wanted)
      // deleted while its lock was waited for
      if (!rows.has(id)) missing(id)
      const now = await this.idsOf(tx, id)
      if (now.every((known) => rows.has(known))) {
        await tx.query('RELEASE SAVEPOINT kin')
        return this.read(tx, id, rows)
      }
      await tx.query('ROLLBACK TO SAVEPOINT kin')
      wanted = [...now, ...also]
    }
  }

  private async idsOf(reader: Reader, id: string): Promise<string[]> {
    const [below, subscribers] = await Promise.all([
      this.nodes.below(reader, id),
      reader.query<{ id: string }>('SELECT subscriber AS id FROM canvas.subscriptions WHERE publisher = $1', [id]),
    ])
    return [...new Set([id, ...below, ...subscribers.map((row) => row.id)])]
  }

  private async read(tx: Tx, id: string, rows: ReadonlyMap<string, NodeRecord>): Promise<Kin> {
    const node = rows.get(id) ?? missing(id)
    const ids = await this.nodes.below(tx, id)
    const watches = await tx.query<Watch & { mode: 'active' | 'passive' }>(
      `SELECT s.subscriber, s.publisher, s.mode FROM canvas.subscriptions s JOIN canvas.nodes w ON w.id = s.subscriber
        WHERE s.publisher = ANY ($1::text[]) AND w.status <> 'canceled'`,
      [[id, ...ids]],
    )
    const subscribers = watches.flatMap(({ subscriber, publisher, mode }) => {
      const row = publisher === id ? rows.get(subscriber) : undefined
      return row ? [{ node: row, mode }] : []
    })
    const below = ids.flatMap((known) => rows.get(known) ?? [])
    return { family: { node, subscribers }, below, watches: watches.filter(({ publisher }) => publisher !== id) }
  }
}

const missing = (id: string): never => {
  throw new SvcError('not_found', `There is no node ${id}.`, { resource: 'node', id })
}
