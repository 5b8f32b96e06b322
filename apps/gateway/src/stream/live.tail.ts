import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import type { JobChunk } from '#common/contract/job.schema.js'
import type { Delta } from '#common/contract/node.schema.js'
import { Bus } from '#common/kernel/bus/bus.js'
import type { RecordedEvent } from './event.source.js'

export interface TailEvent extends RecordedEvent {
  readonly root_id: string
}

export interface TailDeltas {
  readonly node_id: string
  readonly root_id: string
  readonly deltas: readonly Delta[]
  /** Output of the node's background jobs. */
  readonly jobs?: readonly JobChunk[]
}

export interface TailListener {
  onEvent?(event: TailEvent): void
  onDeltas?(deltas: TailDeltas): void
  /** Messages were missed. */
  onMissed(): void
}

/** The one subscription of this gateway to what happens to nodes; each message is read once for all who listen. */
@Injectable()
export class LiveTail implements OnModuleInit, OnModuleDestroy {
  readonly #listeners: TailListener[] = []
  #stops: (() => void)[] = []

  constructor(@Inject(Bus) private readonly bus: Bus) {}

  onModuleInit(): void {
    this.#stops = [
      this.bus.subscribe<TailEvent>('svc.evt.node.>', ({ payload }) => {
        for (const listener of this.#listeners) listener.onEvent?.(payload)
      }),
      this.bus.subscribe<TailDeltas>('svc.live.node.>', ({ payload }) => {
        for (const listener of this.#listeners) listener.onDeltas?.(payload)
      }),
    ]
    this.bus.onBack(() => {
      for (const listener of this.#listeners) listener.onMissed()
    })
  }

  onModuleDestroy(): void {
    for (const stop of this.#stops) stop()
  }

  listen(listener: TailListener): void {
    this.#listeners.push(listener)
  }
}
