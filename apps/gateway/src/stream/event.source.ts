import { Inject, Injectable } from '@nestjs/common'
import type { OutputOf } from '#common/contract/define.js'
import { contract } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { backoff, CLOCK, type Clock, pause } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import { isSvcError } from '#common/kernel/errors.js'

const read = contract['lifecycle.node.readEvents']
const inProgress = contract['lifecycle.node.inProgress']

export type EventPage = OutputOf<typeof read>
export type RecordedEvent = EventPage['events'][number]
export type PartInProgress = OutputOf<typeof inProgress>['parts'][number]

export interface EventTarget {
  readonly id: string
  readonly tree: boolean
}

export const pageSize = 500

/** The recorded events, as the writer reads them. Access was checked before; this asks as the gateway itself. */
@Injectable()
export class EventSource {
  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError `not_found`, `cursor_expired`, `service_unavailable`, `deadline_exceeded`. */
  page(target: EventTarget, after: number, limit = pageSize, signal?: AbortSignal): Promise<EventPage> {
    return this.bus.call(read, systemContext('gateway', signal), { ...target, after, limit })
  }

  /** As `page`, but waits out whatever may pass: a restart of the writer, the bus or the database. */
  async pageInTheEnd(target: EventTarget, after: number, signal: AbortSignal): Promise<EventPage> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.page(target, after, pageSize, signal)
      } catch (error) {
        if (signal.aborted || (isSvcError(error) && !error.facts.retryable)) throw error
        await pause(this.clock, 20 + backoff(attempt, 50, 2000), signal)
      }
    }
  }

  async inProgress(id: string, signal?: AbortSignal): Promise<readonly PartInProgress[]> {
    return (await this.bus.call(inProgress, systemContext('gateway', signal), { id })).parts
  }
}
