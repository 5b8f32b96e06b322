import { Inject, Injectable } from '@nestjs/common'
import type { HostedBroker } from '#common/contract/internal.operations.js'
import type { SandboxState } from '#common/contract/sandbox.operations.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'

export interface HostHello {
  readonly host_id: string
  readonly incarnation: string
  readonly version: string
  readonly brokers: readonly HostedBroker[]
  readonly live: number
  readonly warm: number
  readonly cap: number
  readonly sandbox: SandboxState
}

export interface KnownHost extends HostHello {
  /** Ms since the epoch. */
  readonly seenAt: number
  /** When it was last heard, and when this incarnation was first heard, by the monotonic clock (ms). */
  readonly heardAt: number
  readonly heardSince: number
}

/** A host that was not heard for this long is not launched on; what it hosts is unknown, not gone. */
const silentAfterMs = 8000

/** What the hosts last said. In memory: after a restart the next heartbeat fills it again. */
@Injectable()
export class HostRegistry {
  private readonly hosts = new Map<string, KnownHost>()
  private readonly begun: number

  constructor(@Inject(CLOCK) private readonly clock: Clock) {
    this.begun = clock.monotonic()
  }

  /** Notes a heartbeat; answers whether this is a host, or an incarnation of one, that was not known. */
  hear(hello: HostHello): boolean {
    const known = this.hosts.get(hello.host_id)
    const same = known?.incarnation === hello.incarnation
    const heardAt = this.clock.monotonic()
    const heardSince = same ? known.heardSince : heardAt
    this.hosts.set(hello.host_id, { ...hello, seenAt: this.clock.now(), heardAt, heardSince })
    return !same
  }

  /** The host for the next launch: the one heard of late with the most room; with a sandbox where any has one. */
  choose(): KnownHost | undefined {
    const held = ({ sandbox }: KnownHost): number => (sandbox.level === 'none' ? 0 : 1)
    return this.present().sort((a, b) => held(b) - held(a) || b.cap - b.live - (a.cap - a.live))[0]
  }

  present(): KnownHost[] {
    return [...this.hosts.values()].filter((host) => this.clock.monotonic() - host.heardAt < silentAfterMs)
  }

  /** Since when (ms ago) a host was not heard; of one that never was, since this process listens. */
  silenceOf(hostId: string): number {
    return this.clock.monotonic() - (this.hosts.get(hostId)?.heardAt ?? this.begun)
  }

  isSilent(hostId: string): boolean {
    return this.silenceOf(hostId) >= silentAfterMs
  }

  find(hostId: string): KnownHost | undefined {
    return this.hosts.get(hostId)
  }

  /** The newest process of each node, and what it was made with. */
  equipped(): Map<string, HostedBroker> {
    const newest = new Map<string, HostedBroker>()
    for (const broker of this.present().flatMap(({ brokers }) => brokers)) {
      const known = newest.get(broker.node_id)
      if (!known || known.generation < broker.generation) newest.set(broker.node_id, broker)
    }
    return newest
  }

  hostOf(nodeId: string, generation: number): KnownHost | undefined {
    return [...this.hosts.values()].find((host) =>
      host.brokers.some((broker) => broker.node_id === nodeId && broker.generation === generation),
    )
  }

  /** Whether every host has spoken since then (ms since the epoch), and none hosts this generation of a node. */
  hasNone(nodeId: string, generation: number, since: number): boolean {
    const hosts = [...this.hosts.values()]
    return hosts.length > 0 && hosts.every((host) => host.seenAt > since) && !this.hostOf(nodeId, generation)
  }

  /** When a host last said that it hosts this generation of a node. */
  heartbeatOf(nodeId: string, generation: number): number | null {
    return this.hostOf(nodeId, generation)?.seenAt ?? null
  }
}
