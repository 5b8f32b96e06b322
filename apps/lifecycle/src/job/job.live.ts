import { Injectable } from '@nestjs/common'
import { contract, type InputOf } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { Database } from '#common/kernel/database/database.js'
import { subjects } from '#common/kernel/subjects.js'
import { NodeRepository } from '../node/node.repository.js'

type Chunk = InputOf<(typeof contract)['lifecycle.host.jobOutput']>['chunks'][number]

/** Nodes whose tree is remembered. */
const remembered = 10_000

/** Output of jobs on its way to those who watch: never stored here. */
@Injectable()
export class JobLive {
  private readonly roots = new Map<string, string>()

  constructor(
    private readonly bus: Bus,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
  ) {}

  async publish(chunks: readonly Chunk[]): Promise<void> {
    for (const nodeId of new Set(chunks.map(({ node_id }) => node_id))) {
      const rootId = await this.rootOf(nodeId)
      if (rootId === undefined) continue
      const jobs = chunks
        .filter(({ node_id }) => node_id === nodeId)
        .map(({ job_id, offset, text }) => ({ job_id, offset, text }))
      this.bus.publish(subjects.nodeLive(nodeId), { node_id: nodeId, root_id: rootId, deltas: [], jobs })
    }
  }

  /** These nodes have gone over to another tree. */
  forget(nodeIds: Iterable<string>): void {
    for (const id of nodeIds) this.roots.delete(id)
  }

  private async rootOf(nodeId: string): Promise<string | undefined> {
    const known = this.roots.get(nodeId)
    if (known !== undefined) return known
    const node = await this.nodes.find(this.database, nodeId)
    if (!node) return undefined
    this.roots.set(nodeId, node.root_id)
    if (this.roots.size > remembered) this.roots.delete(this.roots.keys().next().value as string)
    return node.root_id
  }
}
