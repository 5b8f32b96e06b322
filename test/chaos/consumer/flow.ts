import { waitFor } from '#common/testing/wait-for.js'
import type { Client } from '#sdk/index.js'
import type { TestDaemon } from '../../support/daemon.js'
import { Random } from '../random.js'
import { patience } from '../stage.js'

const publishers = ['p1', 'p2', 'p3', 'p4']
const source = 'proof-source'

/** Several who publish events of one object, each numbering its own, into one queue. */
export class Flow {
  private constructor(private readonly client: Client) {}

  /** Registers both objects. */
  static async open(daemon: TestDaemon, queue: string): Promise<Flow> {
    const { customObjects } = daemon.client(patience)
    const { publish_token } = await customObjects.register({
      name: source,
      catalog: [
        {
          event: 'step',
          payload_schema: {
            type: 'object',
            required: ['by', 'n', 'text'],
            properties: { by: { type: 'string' }, n: { type: 'integer' }, text: { type: 'string' } },
          },
        },
      ],
    })
    if (publish_token === null) throw new Error('a new object came without its publish token')
    await customObjects.register({ name: queue, receiver: { type: 'queue' }, watches: [{ source }] })
    return new Flow(daemon.client({ ...patience, token: publish_token }))
  }

  /**
   * Resolves when all are accepted.
   *
   * @param seen how many the consumer has received
   */
  async publish(events: number, random: Random, seen: () => number): Promise<void> {
    // it is killed while they flow, not after
    const ahead = Math.max(100, events / 25)
    let begun = 0
    const each = publishers.map(async (by) => {
      const own = new Random(random.between(1, 2 ** 30))
      for (let n = 0; begun < events; ) {
        await waitFor(() => begun - seen() < ahead, { timeout: 600_000, what: 'the consumer' })
        const count = Math.min(own.between(1, 3) === 1 ? 1 : own.between(2, 100), events - begun)
        if (count < 1) return
        begun += count
        const mine = Array.from({ length: count }, (_, at) => eventOf(by, n + at + 1, own))
        n += count
        await this.#send(mine)
      }
    })
    await Promise.all(each)
  }

  async #send(events: ReturnType<typeof eventOf>[]): Promise<void> {
    const [only] = events
    if (only && events.length === 1) await this.client.customObjects.publish(source, only)
    else await this.client.customObjects.publishBatch(source, { events })
  }
}

const eventOf = (by: string, n: number, random: Random) => ({
  event: 'step',
  payload: { by, n, text: 'x'.repeat(random.between(0, 400)) },
})
