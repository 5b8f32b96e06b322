import { type CustomObject, contract, type InputOf } from '#common/contract/index.js'
import type { Delivery } from '#common/contract/object.schema.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { waitFor } from '#common/testing/wait-for.js'
import { ObjectsUnderTest, ownerCall } from '../../../../test/support/objects-service.js'

type Concern = InputOf<(typeof contract)['lifecycle.concern.set']>
type Receiver = NonNullable<CustomObject['receiver']>

/** The service with lifecycle played, as far as it is told what needs a person. */
export class Sending {
  private constructor(
    readonly objects: ObjectsUnderTest,
    private readonly lifecycle: TestPeer,
    readonly concerns: Concern[],
  ) {}

  static async start(): Promise<Sending> {
    const objects = await ObjectsUnderTest.start()
    const concerns: Concern[] = []
    const set = contract['lifecycle.concern.set']
    const lifecycle = await joinBus(objects.nats, 'lifecycle', {
      operations: [set],
      handlers: {
        [set.name]: async (_: unknown, input: unknown) => {
          concerns.push(input as Concern)
          return { noted: true }
        },
      },
    })
    const sending = new Sending(objects, lifecycle, concerns)
    await sending.register('source', null)
    return sending
  }

  async stop(): Promise<void> {
    await this.objects.stop()
    await this.lifecycle.close()
  }

  /** An object that watches the source, if it has a receiver; answers its signing secret. */
  async register(name: string, receiver: Partial<Receiver> | null): Promise<{ id: string; secret: string }> {
    const { id, signing_secret } = await this.objects.call(
      'objects.object.register',
      {
        name,
        description: '',
        catalog: [{ event: 'e', description: '', payload_schema: {} }],
        receiver: receiver && { max_pending: 100_000, ...receiver },
        watches: receiver ? [{ source: 'source', events: null }] : [],
        rotate: false,
        app_id: null,
      },
      ownerCall({ idempotencyKey: `register:${name}` }),
    )
    return { id, secret: signing_secret ?? '' }
  }

  hook(name: string, url: string): Promise<{ id: string; secret: string }> {
    return this.register(name, { type: 'url', url, allow_private: true })
  }

  async publish(...payloads: unknown[]): Promise<void> {
    const events = payloads.map((payload) => ({ event: 'e', payload }))
    await this.objects.call('customObjects.publishBatch', { ref: 'source', events })
  }

  retrieve(ref: string): Promise<CustomObject> {
    return this.objects.call('customObjects.retrieve', { ref })
  }

  async deliveries(ref: string): Promise<Delivery[]> {
    return (await this.objects.call('customObjects.deliveries.list', { ref, limit: 200 })).data.reverse()
  }

  /** The only delivery of an object, once it is so. */
  until(ref: string, is: Partial<Delivery>): Promise<Delivery> {
    return waitFor(
      async () => {
        const [first] = await this.deliveries(ref)
        return first && Object.entries(is).every(([name, value]) => first[name as keyof Delivery] === value)
          ? first
          : null
      },
      { what: `the delivery to ${ref} to be ${JSON.stringify(is)}` },
    )
  }

  untilAcked(ref: string): Promise<unknown> {
    return waitFor(async () => (await this.retrieve(ref)).receiver_state?.pending === 0, {
      what: `all deliveries to ${ref} to be acknowledged`,
    })
  }

  /** Who holds a receiver now, and until when. */
  async hold(id: string): Promise<{ holder: string | null; held_until: Date | null; due_at: Date | null }> {
    const rows = await this.objects.database.query<{
      holder: string | null
      held_until: Date | null
      due_at: Date | null
    }>(`SELECT holder, held_until, due_at FROM objects.receivers WHERE id = '${id}'`)
    return rows[0] as (typeof rows)[number]
  }
}
