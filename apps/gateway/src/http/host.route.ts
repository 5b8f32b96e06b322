import { Inject, Injectable } from '@nestjs/common'
import type { Operation } from '#common/contract/define.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { CLOCK, type Clock, pause } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import type { Context } from '#common/kernel/context.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import { TokenVerifier } from '../tokens/token.verifier.js'

/** How long a request waits for its host, and how often it looks (ms). */
const comesWithin = 5000
const lookAgain = 100

/** Which host a request goes to: that of the node whose token it bears, else the one of this machine. */
@Injectable()
export class HostRoute {
  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(TokenVerifier) private readonly tokens: TokenVerifier,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Waits a moment for a host that isn't there: it starts beside the daemon, and again by itself.
   *
   * @throws SvcError the handler's own; `service_unavailable` with `host_id` when that host isn't there;
   * `token_revoked` when the node has ended meanwhile.
   */
  async call(entry: Operation, ctx: Context, input: unknown): Promise<unknown> {
    const actor = await this.tokens.renew(ctx.actor)
    const target = actor.place?.host_id ?? this.settings.SVC_HOST_ID
    const until = Math.min(this.clock.now() + comesWithin, (ctx.deadline ?? Infinity) - lookAgain)
    for (;;) {
      try {
        return await this.bus.call(entry, { ...ctx, actor }, input, { target })
      } catch (error) {
        if (!hasCode(error, 'service_unavailable') || error.fields.host_id !== target) throw error
        const heard = error.fields.delivered !== false
        if (heard || ctx.signal.aborted || this.clock.now() >= until) throw absent(target, error)
      }
      await pause(this.clock, lookAgain, ctx.signal)
    }
  }
}

const absent = (hostId: string, cause: SvcError): SvcError =>
  new SvcError(
    'service_unavailable',
    `The host ${hostId} can't be reached (${cause.message}). \`svc sys status\` shows whether it runs; \`svc sys up\` starts the one of this machine.`,
    cause.fields,
    { cause },
  )
