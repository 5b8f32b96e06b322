import { contract, type InputOf } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'

const {
  'objects.object.register': register,
  'objects.object.unregister': unregister,
  'objects.object.rotateSecret': rotateSecret,
  'customObjects.retrieve': retrieve,
  'customObjects.publish': publish,
} = contract

type Played = { id: string; name: string; app_id: string | null; deleted: boolean }
const time = '2026-01-01T00:00:00.000Z'

/** The other side of the wire: objects as far as their tokens need them, kept in maps. */
export class WireObjects {
  readonly published: Context[] = []
  readonly #objects: Played[] = []
  readonly #answers = new Map<string, object>()
  #lost = 0
  #peer!: TestPeer

  static async start(nats: string): Promise<WireObjects> {
    const wire = new WireObjects()
    const handlers: Record<string, (ctx: Context, input: never) => unknown> = {
      [register.name]: (ctx, input) => wire.#register(ctx, input),
      [unregister.name]: (_ctx, { ref }: { ref: string }) => wire.#unregister(ref),
      [rotateSecret.name]: () => ({ signing_secret: 'whsec_new' }),
      [retrieve.name]: (_ctx, { ref }: { ref: string }) => wire.#shown(wire.#find(ref)),
      [publish.name]: (ctx) => wire.#publish(ctx),
    }
    wire.#peer = await joinBus(nats, 'objects', {
      operations: [register, unregister, rotateSecret, retrieve, publish],
      handlers: handlers as never,
    })
    return wire
  }

  stop(): Promise<void> {
    return this.#peer.close()
  }

  /** The next answer is lost on its way, though what was asked is done. */
  loseAnswer(): void {
    this.#lost += 1
  }

  #register({ idempotencyKey, notes }: Context, { name, app_id, rotate, receiver }: InputOf<typeof register>): object {
    const kept = idempotencyKey && this.#answers.get(idempotencyKey)
    if (kept) {
      if (notes) notes.replayed = true
      return kept
    }
    const existing = this.#objects.find((object) => object.name === name && !object.deleted)
    if (existing && !rotate) throw new SvcError('already_exists')
    const object = existing ?? { id: newId('obj'), name, app_id, deleted: false }
    if (!existing) this.#objects.push(object)
    const signing_secret = receiver?.type === 'url' ? 'whsec_first' : null
    const answer = { ...this.#shown(object), signing_secret, existed: existing !== undefined }
    if (idempotencyKey) this.#answers.set(idempotencyKey, answer)
    return this.#sent(answer)
  }

  #unregister(ref: string): object {
    const object = this.#objects.findLast(({ id, name }) => ref === id || ref === name)
    if (!object) throw new SvcError('not_found')
    const deleted = !object.deleted
    object.deleted = true
    return this.#sent({ id: object.id, deleted })
  }

  #publish(ctx: Context): object {
    this.published.push(ctx)
    return { event_id: newId('evt'), seq: 1, accepted_at: time, duplicate: false }
  }

  #find(ref: string): Played {
    const object = this.#objects.find(({ id, name, deleted }) => !deleted && (ref === id || ref === name))
    if (!object) throw new SvcError('not_found')
    return object
  }

  #sent<T>(answer: T): T {
    if (this.#lost === 0) return answer
    this.#lost -= 1
    throw new SvcError('service_unavailable')
  }

  #shown({ id, name, app_id }: Played): object {
    return {
      id,
      name,
      description: '',
      catalog: [],
      catalog_version: 1,
      receiver: null,
      receiver_state: null,
      watchers: 0,
      published: 0,
      app_id,
      created_by: { kind: 'owner', id: null },
      version: 1,
      created_at: time,
      updated_at: time,
    }
  }
}
