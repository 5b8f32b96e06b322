import { Inject, Injectable } from '@nestjs/common'
import { contract, type OutputOf } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'

const ready = contract['models.ready']
type Readiness = OutputOf<typeof ready>

/** How long a good answer is trusted, in ms; a bad one is asked again each time, since a person is mending it. */
const trustMs = 5000

/** Whether a node that thinks can be served, asked before it is made, so that its maker hears at once what is missing. */
@Injectable()
export class ModelCheck {
  private known: { readonly at: number; readonly readiness: Readiness } | undefined

  constructor(
    private readonly bus: Bus,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * When the service that knows is away, the node is made all the same: it waits for it as it would later.
   *
   * @throws SvcError model_not_configured with the remedy
   */
  async require(ctx: Context, model: { strength?: string; override?: string | undefined }): Promise<void> {
    const readiness = await this.ask(ctx)
    if (!readiness) return
    if (model.override === undefined) {
      const strength = readiness.strengths.find((entry) => entry.strength === (model.strength ?? 'medium'))
      if (readiness.ready && strength?.model) return
      throw missing(readiness, strength?.reason)
    }
    const name = model.override.split('/', 1)[0]
    const provider = readiness.providers.find((entry) => entry.provider === name)
    if (!provider?.configured) throw missing(readiness, provider?.reason ?? `There is no provider "${name}".`)
  }

  /** What `require` would throw for a node that is there; nothing for one that doesn't think. */
  async refusal(
    ctx: Context,
    { engine }: { engine: string },
    model: { strength?: string; override?: string | undefined },
  ): Promise<SvcError | undefined> {
    if (engine !== 'loop') return undefined
    try {
      await this.require(ctx, model)
      return undefined
    } catch (error) {
      if (hasCode(error, 'model_not_configured')) return error
      throw error
    }
  }

  private async ask(ctx: Context): Promise<Readiness | undefined> {
    const now = this.clock.monotonic()
    if (this.known?.readiness.ready && now - this.known.at < trustMs) return this.known.readiness
    try {
      const readiness = await this.bus.call(ready, ctx, {}, { timeout: 2000 })
      this.known = { at: now, readiness }
      return readiness
    } catch (error) {
      if (hasCode(error, 'service_unavailable', 'deadline_exceeded')) return undefined
      throw error
    }
  }
}

const missing = (readiness: Readiness, reason: string | null | undefined): SvcError =>
  new SvcError('model_not_configured', reason ?? undefined, {
    ...(readiness.remedy !== null && { remedy: readiness.remedy }),
  })
