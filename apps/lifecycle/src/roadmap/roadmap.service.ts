import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { MailRepository } from '../mail/mail.repository.js'
import { requireMailRoom } from '../mail/mail.room.js'
import { Engagements } from '../node/engagement.service.js'
import { NodeAccess } from '../node/node.access.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { requireLegal } from '../node/node.rules.js'
import { type RoadmapRecord, RoadmapRepository } from './roadmap.repository.js'
import { seedText } from './roadmap.text.js'

const retrieve = contract['nodes.roadmap.retrieve']
const write = contract['nodes.roadmap.write']

const toRoadmap = (row: RoadmapRecord): OutputOf<typeof write> => ({
  node_id: row.node_id,
  text: row.text,
  version: row.version,
  updated_at: row.updated_at.toISOString(),
  updated_by: row.updated_by,
})

/** The document that an orchestrator keeps of its goal and its plan, and finds again in each fresh context. */
@Injectable()
export class RoadmapService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly roadmaps: RoadmapRepository,
    private readonly access: NodeAccess,
    private readonly engagements: Engagements,
    private readonly mail: MailRepository,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found, of the node, or of its roadmap */
  async retrieve(ctx: Context, { id, version }: InputOf<typeof retrieve>): Promise<OutputOf<typeof retrieve>> {
    await this.access.requireReadable(ctx, this.database, await this.nodes.get(this.database, id))
    const row = await (version === undefined
      ? this.roadmaps.find(this.database, id)
      : this.roadmaps.at(this.database, id, version))
    if (row) return toRoadmap(row)
    const what = version === undefined ? 'no roadmap' : `no version ${version} of its roadmap`
    throw new SvcError('not_found', `The node ${id} has ${what}.`, { resource: 'roadmap', id })
  }

  /** @throws SvcError not_found, illegal_transition (canceled, or no orchestrator), precondition_failed, quota_exceeded */
  write(ctx: Context, input: InputOf<typeof write>): Promise<OutputOf<typeof write>> {
    return this.writer.transact(ctx, async (within) => {
      const node = await this.nodes.lock(within.tx, input.id)
      await this.access.requireOwn(ctx, within.tx, node)
      requireLegal(node.status, 'write_roadmap')
      if (node.mode !== 'orchestrator') {
        throw new SvcError('illegal_transition', 'Only an orchestrator keeps a roadmap: promote the node first.', {
          state: node.mode,
          event: 'write_roadmap',
        })
      }
      const present = await this.roadmaps.find(within.tx, node.id)
      // a repetition finds what it wrote: nothing is lost by answering it
      if (present && present.text === input.text) return toRoadmap(present)
      const version = present?.version ?? 0
      if (input.if_match !== undefined && input.if_match !== version) {
        throw new SvcError('precondition_failed', undefined, { version })
      }
      const written = this.put(within, node, version + 1, input.text)
      if (ctx.actor.nodeId !== node.id) await this.tell(within, node, written)
      return toRoadmap(written)
    })
  }

  /** Gives a new orchestrator its roadmap, in the transaction that makes it one. What it has already is kept unless `text` is given. */
  async seed(ctx: TxContext, node: NodeRecord, text: string | undefined, goal: () => Promise<string>): Promise<number> {
    const present = await this.roadmaps.find(ctx.tx, node.id)
    if (present && (text === undefined || text === present.text)) return present.version
    return this.put(ctx, node, (present?.version ?? 0) + 1, text ?? seedText(node.name, await goal())).version
  }

  private put(ctx: TxContext, node: NodeRecord, version: number, text: string): RoadmapRecord {
    const row = {
      node_id: node.id,
      version,
      text,
      updated_at: new Date(this.clock.now()),
      updated_by: ctx.actor.principal,
    }
    this.roadmaps.write(ctx.tx, row)
    ctx.tx.emit({
      nodeId: node.id,
      type: 'roadmap.changed',
      data: { version, bytes: Buffer.byteLength(text), by: row.updated_by },
    })
    return row
  }

  /** Somebody else wrote it: its keeper finds out with its next mail. */
  private async tell(ctx: TxContext, node: NodeRecord, { version, updated_by }: RoadmapRecord): Promise<void> {
    if (node.engine === 'exec') return
    requireMailRoom(await this.mail.waiting(ctx.tx, node.id))
    this.engagements.hand(ctx, node, {
      tier: 'deferred',
      kind: 'notice',
      body: `Your roadmap was changed by ${updated_by}: it is version ${version} now. Read it before you go on by it.`,
      source: { kind: 'system', id: null },
      reopens: false,
    })
  }
}
