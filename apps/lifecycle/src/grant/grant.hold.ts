import { Injectable } from '@nestjs/common'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'
import { isHeld } from '../fault/fault.hold.js'
import { FaultService } from '../fault/fault.service.js'
import { JobQueue } from '../job/job.queue.js'
import { Engagements } from '../node/engagement.service.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { LaunchQueue } from '../supervision/launch.queue.js'
import { Ceilings } from './ceilings.js'
import { type Ceiling, excessOf, ungranted } from './grant.ceiling.js'

/** Scopes of a process that no call asks for: its mounts, and a shell among its tools. */
export interface Equipped {
  readonly generation: number
  readonly scopes: readonly string[]
}

/** What a process was made with that its node may not have now; a program that runs by itself has no shell to lose. */
const excessOfProcess = (node: NodeRecord, { scopes }: Equipped, ceiling: Ceiling): string[] => {
  const excess = excessOf(scopes, ceiling)
  return node.engine === 'exec' ? excess.filter((scope) => scope !== 'svc:act') : excess
}

/** Brings nodes down to what their app is granted now, where no request of theirs is there to be refused. */
@Injectable()
export class GrantHold {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly ceilings: Ceilings,
    private readonly faults: FaultService,
    private readonly engagements: Engagements,
    private readonly launches: LaunchQueue,
    private readonly jobs: JobQueue,
  ) {}

  /** The nodes among these whose process has more than it may. */
  async tooWide(active: readonly NodeRecord[], equipped: ReadonlyMap<string, Equipped>): Promise<string[]> {
    const running = active.filter(({ app_id, id, generation }) => {
      return app_id !== null && equipped.get(id)?.generation === generation
    })
    const ceilings = await this.ceilings.ofAll(this.database, running)
    return running.flatMap((node) => {
      const excess = excessOfProcess(node, equipped.get(node.id) as Equipped, ceilings.get(node.id) as Ceiling)
      return excess.length > 0 ? [node.id] : []
    })
  }

  /** Ends the process that has too much, with the jobs beside it; the next one is made with less, or not at all. */
  async cut(nodeId: string, equipped: Equipped): Promise<void> {
    await this.writer.transact(systemContext('lifecycle'), async (ctx) => {
      const family = await this.nodes.lockFamily(ctx.tx, nodeId)
      const { node } = family
      if (node.status !== 'active' || node.generation !== equipped.generation || isHeld(node)) return
      const ceiling = await this.ceilings.of(ctx.tx, node)
      if (excessOfProcess(node, equipped, ceiling).length === 0) return
      if (ceiling.state === 'revoked') this.faults.fail(ctx, family, ungranted(node, ceiling))
      else this.engagements.relaunch(ctx, node, { reason: 'the grant of its app was narrowed', delayMs: 0 })
      ctx.tx.afterCommit(() => {
        this.launches.stop(node.id, equipped.generation)
        this.jobs.endAll(node.id)
      })
    })
  }

  /** A node that is not to be launched rests with the reason, until the grant is there. */
  async hold({ id, generation }: NodeRecord): Promise<void> {
    await this.writer.transact(systemContext('lifecycle'), async (ctx) => {
      const family = await this.nodes.lockFamily(ctx.tx, id)
      const { node } = family
      if (node.status !== 'active' || node.generation !== generation || node.broker_state === 'bound') return
      if (isHeld(node)) return
      const ceiling = await this.ceilings.of(ctx.tx, node)
      if (ceiling.state !== 'granted') this.faults.fail(ctx, family, ungranted(node, ceiling))
    })
  }
}
