import { Inject, Injectable } from '@nestjs/common'
import { type Assignment, contract, type InputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { type TxContext, Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { speaksWith, version } from '#common/kernel/version.js'
import { Kickoffs } from '../context/kickoff.service.js'
import { Ceilings } from '../grant/ceilings.js'
import { MailRepository } from '../mail/mail.repository.js'
import { MailService } from '../mail/mail.service.js'
import { NodeAccess } from '../node/node.access.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { NodeTransitions } from '../node/node.transition.js'
import { ReportRepository } from '../report/report.repository.js'
import { JournalRepository } from './journal.repository.js'

const bind = contract['nodes.broker.bind']

/** A process says that it hosts a node now. Before this answer it runs nothing. */
@Injectable()
export class BindService {
  constructor(
    private readonly writer: Writer,
    private readonly nodes: NodeRepository,
    private readonly journal: JournalRepository,
    private readonly reports: ReportRepository,
    private readonly mail: MailRepository,
    private readonly mailbox: MailService,
    private readonly access: NodeAccess,
    private readonly transitions: NodeTransitions,
    private readonly kickoffs: Kickoffs,
    private readonly ceilings: Ceilings,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError stale_generation, illegal_transition when the node ended meanwhile, version_mismatch */
  bind(ctx: Context, input: InputOf<typeof bind>): Promise<Assignment> {
    if (!speaksWith(input.version)) {
      throw new SvcError('version_mismatch', `A broker of version ${input.version} can't be served by ${version}.`, {
        remedy: 'Restart the host so that it starts brokers of this version.',
      })
    }
    return this.writer.transact(ctx, async (within) => {
      const node = await this.nodes.lock(within.tx, input.id)
      this.access.requireGeneration(ctx, node)
      if (node.status !== 'active') {
        throw new SvcError('illegal_transition', undefined, { state: node.status, event: 'bind' })
      }
      if (node.broker_state !== 'bound') return this.assignment(within, await this.confirm(within, node, input))
      if (!isSame(node, input)) {
        throw new SvcError('stale_generation', 'Another process of this generation hosts the node.', {
          generation: node.generation,
        })
      }
      return this.assignment(within, node)
    })
  }

  private async confirm(ctx: TxContext, node: NodeRecord, input: InputOf<typeof bind>): Promise<NodeRecord> {
    const bound = this.transitions.change(ctx, node, {
      broker_state: 'bound',
      broker_host_id: input.host_id,
      broker_pid: input.pid,
      broker_started_at: new Date(input.started_at),
      broker_bound_at: new Date(this.clock.now()),
      next_launch_at: null,
    })
    ctx.tx.emit({
      nodeId: node.id,
      type: 'node.bound',
      data: { generation: node.generation, host_id: input.host_id, pid: input.pid },
    })
    return this.kickoffs.write(ctx, bound)
  }

  private async assignment({ tx }: TxContext, node: NodeRecord): Promise<Assignment> {
    const [ord, journal, final, parent, mail, scopes] = await Promise.all([
      this.journal.lockHead(tx, node.id),
      this.journal.page(tx, node.id, node.context_from),
      this.reports.final(tx, node.id, node.engagement),
      node.parent_id === null ? undefined : this.nodes.find(tx, node.parent_id),
      this.mail.claim(tx, this.mailbox.claimOf(node, 100, 'all')),
      this.ceilings.scopesOf(tx, node),
    ])
    return {
      node_id: node.id,
      generation: node.generation,
      engagement: node.engagement,
      name: node.name,
      kind: node.kind,
      mode: node.mode,
      lifecycle: node.lifecycle,
      engine: node.engine,
      exec: node.exec,
      cwd: node.cwd,
      model: node.model,
      scopes: [...scopes],
      result_schema: node.result_schema,
      depth: node.depth,
      persona: node.persona,
      parent: parent ? { id: parent.id, name: parent.name } : null,
      reported: final !== null,
      context: node.context,
      turn: node.turn,
      forked_from: node.forked_from,
      first_ord: node.context_from,
      next_ord: ord + 1,
      journal,
      mail,
    }
  }
}

/** A process is its host, its number and its start: a number alone comes back. */
const isSame = (node: NodeRecord, input: InputOf<typeof bind>): boolean =>
  node.broker_host_id === input.host_id &&
  node.broker_pid === input.pid &&
  node.broker_started_at?.getTime() === Date.parse(input.started_at)
