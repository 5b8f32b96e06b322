import type { contract, InputOf, OutputOf } from '#common/contract/index.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Writer } from '#common/kernel/database/writer.js'
import { deliverySeqOf } from '../ids.js'
import { AckGathering } from './ack.gathering.js'
import type { Acks } from './ack.repository.js'
import type { ReceivingObjects } from './receiving.object.js'

type Ack = (typeof contract)['customObjects.ack']

/** Acknowledges deliveries: of a queue what its consumer is done with, of any receiver what its owner gives up. */
export class AckService {
  readonly #gatherings = new Map<string, AckGathering>()

  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly objects: ReceivingObjects,
    private readonly acks: Acks,
  ) {}

  /** @throws SvcError not_found, receiver_unfit */
  async acknowledge(_ctx: Context, { ref, ids }: InputOf<Ack>): Promise<OutputOf<Ack>> {
    const receiver = await this.objects.find(this.database, ref)
    const seqs = new Set<number>()
    const unknown: string[] = []
    for (const id of ids) {
      const seq = deliverySeqOf(receiver.id, id)
      if (seq !== undefined && seq <= receiver.delivery_seq) seqs.add(seq)
      else unknown.push(id)
    }
    const acknowledged = seqs.size === 0 ? 0 : await this.#gatheringOf(receiver.id).add([...seqs])
    return { acknowledged, unknown }
  }

  #gatheringOf(receiverId: string): AckGathering {
    const known = this.#gatherings.get(receiverId)
    if (known) return known
    const gathering = new AckGathering(
      // of several callers, and so of none: what one of them gives up the others still want
      (seqs) =>
        this.writer.transact(systemContext('objects'), ({ tx }) => this.acks.acknowledgeEach(tx, receiverId, seqs)),
      () => this.#gatherings.delete(receiverId),
    )
    this.#gatherings.set(receiverId, gathering)
    return gathering
  }
}
