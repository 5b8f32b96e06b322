import { Inject, Injectable } from '@nestjs/common'
import { contract, type OutputOf } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'
import { hasCode } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { Ceilings } from '../grant/ceilings.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { triableFrom } from '../supervision/fault.policy.js'
import { isHeld } from './fault.hold.js'
import { FaultService } from './fault.service.js'

type Readiness = OutputOf<(typeof contract)['models.ready']>
type Asked = 'provider' | 'credential'

/** Known: what the last calls said, which costs nothing. Probed: a provider that failed is asked anew. */
const questions = { credential: contract['models.ready'], provider: contract['models.readiness'] } as const

const askedWithinMs = 5000
/** Nodes that are tried again in one look: few at first, twice as many after each look whose nodes went on. */
const firstWave = 4
const largestWave = 64

/** Whether the model of a node can be called, as far as is known. */
const isAnswering = ({ model }: NodeRecord, { providers, strengths }: Readiness): boolean => {
  if (model.override === undefined) {
    const strength = strengths.find((entry) => entry.strength === model.strength)
    return strength?.model != null && strength.reason === null
  }
  const name = model.override.split('/', 1)[0]
  return providers.find(({ provider }) => provider === name)?.usable === true
}

/**
 * Looks after the nodes that a fault holds: asks whether what they are held for is there, once for all of them, and
 * launches them again when it is. Level-triggered; only the rows count.
 */
@Injectable()
export class FaultProber {
  private looking: Promise<void> | undefined
  private wave = firstWave
  /** Ms since the epoch. */
  private lastFailure = 0
  private released = 0

  constructor(
    private readonly bus: Bus,
    private readonly writer: Writer,
    private readonly nodes: NodeRepository,
    private readonly faults: FaultService,
    private readonly database: Database,
    private readonly ceilings: Ceilings,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  /** Looks once, unless a look is under way: asking may take seconds, which must hold nothing else up. */
  look(active: readonly NodeRecord[]): void {
    const held = active.filter(isHeld)
    if (held.length === 0 || this.looking) return
    this.looking = this.round(held)
      .catch((err: unknown) => this.log.warn({ err }, 'held nodes could not be looked at; trying again'))
      .finally(() => {
        this.looking = undefined
      })
  }

  async settled(): Promise<void> {
    await this.looking
  }

  private async round(held: readonly NodeRecord[]): Promise<void> {
    const now = this.clock.now()
    this.pace(held)
    const isOverdue = ({ fault }: NodeRecord): boolean => Date.parse(fault?.retry_at ?? '') <= now
    const ripe = held.filter((node) => !isOverdue(node) && node.fault && triableFrom(node.fault) <= now)
    const answered = await this.answered(ripe)
    const wave = [...held.filter(isOverdue), ...answered].slice(0, this.wave)
    for (const node of wave) await this.guarded(node)
    this.released = wave.length
  }

  /** A wave that met the fault again is followed by a small one: an outage must not end in a storm. */
  private pace(held: readonly NodeRecord[]): void {
    const newest = held.reduce((latest, { fault }) => Math.max(latest, Date.parse(fault?.last_at ?? '') || 0), 0)
    const well = this.released > 0 && newest <= this.lastFailure
    this.wave = well ? Math.min(this.wave * 2, largestWave) : firstWave
    this.lastFailure = newest
  }

  private async answered(ripe: readonly NodeRecord[]): Promise<NodeRecord[]> {
    const found = await this.granted(ripe.filter(({ fault }) => fault?.held_for === 'grant'))
    for (const kind of ['provider', 'credential'] as const) {
      const nodes = ripe.filter(({ fault }) => fault?.held_for === kind)
      const readiness = nodes.length > 0 ? await this.ask(kind) : undefined
      if (readiness) found.push(...nodes.filter((node) => isAnswering(node, readiness)))
    }
    return found
  }

  private async granted(held: readonly NodeRecord[]): Promise<NodeRecord[]> {
    const ceilings = await this.ceilings.ofAll(this.database, held)
    return held.filter(({ id }) => ceilings.get(id)?.state === 'granted')
  }

  /** Undefined when the service that knows is away: cannot tell. */
  private async ask(kind: Asked): Promise<Readiness | undefined> {
    try {
      return await this.bus.call(questions[kind], systemContext('lifecycle'), {}, { timeout: askedWithinMs })
    } catch (error) {
      if (hasCode(error, 'service_unavailable', 'deadline_exceeded')) return undefined
      throw error
    }
  }

  /** What fails for one node must not hold the others. */
  private async guarded(node: NodeRecord): Promise<void> {
    try {
      await this.release(node)
    } catch (err) {
      if (hasCode(err, 'not_leader')) throw err
      this.log.error({ err, node_id: node.id }, 'a held node could not be tried again; trying later')
    }
  }

  private async release({ id, generation }: NodeRecord): Promise<void> {
    await this.writer.transact(systemContext('lifecycle'), async (ctx) => {
      const [node] = (await this.nodes.lockAll(ctx.tx, [id])).values()
      if (node?.generation !== generation || !isHeld(node)) return
      this.faults.launch(ctx, node, 'what it was held for is there again')
    })
  }
}
