import { contract, type InputOf, type OutputOf } from '../../libs/common/src/contract/index.js'
import { isoTime, systemClock } from '../../libs/common/src/kernel/clock.js'
import type { Context } from '../../libs/common/src/kernel/context.js'
import { newId } from '../../libs/common/src/kernel/ids.js'
import { joinBus, type TestPeer } from '../../libs/common/src/testing/bus.js'

const { 'customObjects.publish': publish, 'objects.publication.check': check } = contract
type Publication = InputOf<typeof publish>
type Acceptance = OutputOf<typeof publish>

/** What was asked for, and by whom. */
interface Asked {
  readonly ctx: Context
  readonly input: Publication
}

/** The side of objects that schedules see, played at the wire: takes every event, once for its key. */
export class PlayedObjects {
  readonly checks: Asked[] = []
  /** Every publication that was asked for, repetitions too. */
  readonly asked: Asked[] = []
  /** What was accepted, by its key. */
  readonly accepted = new Map<string, Acceptance>()
  /** Refuses by throwing; `onAnswer` after it was accepted, so that nobody hears of it. */
  onCheck: (asked: Asked) => void | Promise<void> = () => undefined
  onPublish: (asked: Asked) => void | Promise<void> = () => undefined
  onAnswer: (asked: Asked) => void | Promise<void> = () => undefined
  #peer: TestPeer | undefined

  constructor(private readonly nats: string) {}

  async join(): Promise<void> {
    this.#peer = await joinBus(this.nats, 'objects', {
      operations: [publish, check],
      handlers: {
        [check.name]: async (ctx: Context, input: unknown) => {
          const asked = { ctx, input: input as Publication }
          this.checks.push(asked)
          await this.onCheck(asked)
          return { object_id: newId('obj') }
        },
        [publish.name]: (ctx: Context, input: unknown) => this.#publish({ ctx, input: input as Publication }),
      } as never,
    })
  }

  /** Nobody answers until it joins again. */
  async leave(): Promise<void> {
    await this.#peer?.close()
    this.#peer = undefined
  }

  async #publish(asked: Asked): Promise<Acceptance> {
    this.asked.push(asked)
    const key = asked.ctx.idempotencyKey as string
    const known = this.accepted.get(key)
    if (!known) await this.onPublish(asked)
    const acceptance = known ?? {
      event_id: newId('evt'),
      seq: this.accepted.size + 1,
      accepted_at: isoTime(systemClock.now()),
      duplicate: false,
    }
    this.accepted.set(key, acceptance)
    await this.onAnswer(asked)
    return acceptance
  }
}
