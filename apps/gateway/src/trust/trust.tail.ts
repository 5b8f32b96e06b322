import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { Bus } from '#common/kernel/bus/bus.js'
import { subjects } from '#common/kernel/subjects.js'

/** What may be believed no longer: the rows say what holds now. */
export interface TrustChange {
  /** Ids of tokens. */
  readonly tokens?: readonly string[]
  /** Ids of apps whose grant, origins or existence changed. */
  readonly apps?: readonly string[]
  /** Where the daemon is reached from. */
  readonly access?: boolean
}

/** `undefined`: changes may have been missed, of anything. */
export type TrustListener = (change: TrustChange | undefined) => void

/**
 * Tells every gateway, this one first, what has changed in tokens, grants and access. To be told after the commit: who
 * hears it reads the rows. Lossy, so that nothing rests on it alone.
 */
@Injectable()
export class TrustTail implements OnModuleInit, OnModuleDestroy {
  readonly #listeners: TrustListener[] = []
  #stop: (() => void) | undefined

  constructor(@Inject(Bus) private readonly bus: Bus) {}

  onModuleInit(): void {
    this.#stop = this.bus.subscribe<TrustChange>(subjects.trust(), ({ payload }) => this.#hear(payload))
    this.bus.onBack(() => this.#hear(undefined))
  }

  onModuleDestroy(): void {
    this.#stop?.()
  }

  listen(listener: TrustListener): void {
    this.#listeners.push(listener)
  }

  tell(change: TrustChange): void {
    this.#hear(change)
    this.bus.publish(subjects.trust(), change)
  }

  #hear(change: TrustChange | undefined): void {
    for (const listener of this.#listeners) listener(change)
  }
}
