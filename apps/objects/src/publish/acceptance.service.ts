import type { Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { Writer } from '#common/kernel/database/writer.js'
import { AcceptanceDecider, keysAfter, keysOf, type Standing } from './acceptance.decider.js'
import type { AcceptanceRepository } from './acceptance.repository.js'
import type { Expansion } from './expansion.js'
import type { Outcome, Publication } from './publication.js'
import type { PublicationRepository } from './publication.repository.js'

/** Accepts publications: events, keys and deliveries in one transaction, in two round trips. */
export class AcceptanceService {
  constructor(
    private readonly writer: Writer,
    private readonly rows: AcceptanceRepository,
    private readonly events: PublicationRepository,
    private readonly expansion: Expansion,
    private readonly clock: Clock,
  ) {}

  /** What became of each, in their order. */
  accept(publications: readonly Publication[]): Promise<Outcome[]> {
    return this.writer.transact(systemContext('objects'), async ({ tx }) => {
      const at = new Date(this.clock.now())
      const standing = await this.#look(tx, publications, at)
      const decider = new AcceptanceDecider(standing, at)
      const outcomes = publications.map((publication) => decider.decide(publication))
      this.events.add(tx, decider.events, at)
      this.rows.keep(tx, decider.keys)
      this.expansion.spread(tx, standing.sources, decider.events, at)
      return outcomes
    })
  }

  async #look(tx: Tx, publications: readonly Publication[], at: Date): Promise<Standing> {
    const ids = [...new Set(publications.map(({ object_id }) => object_id))]
    const [locked, objects, keys] = await Promise.all([
      this.events.lockRows(tx, ids),
      this.rows.standings(tx, ids),
      this.rows.keys(tx, publications.flatMap(keysOf), keysAfter(at.getTime())),
    ])
    const fanning = new Set(objects.filter((object) => object.fanning).map(({ id }) => id))
    return {
      sources: locked.map((source) => ({ ...source, fanning: fanning.has(source.id) })),
      versions: new Map(objects.filter(({ lives }) => lives).map(({ id, version }) => [id, version])),
      keys,
      full: objects.flatMap(({ full_watchers }) => full_watchers ?? []),
    }
  }
}
