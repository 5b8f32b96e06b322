import { networkInterfaces } from 'node:os'
import { Inject, Injectable } from '@nestjs/common'
import type { Access } from '#common/contract/access.operations.js'
import type { InputOf } from '#common/contract/define.js'
import type { contract } from '#common/contract/index.js'
import { CLOCK, type Clock, isoTime } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { AllowedHosts, hostNameOf } from '../http/allowed.hosts.js'
import { AllowedOrigins } from '../http/allowed.origins.js'
import { GatewayListeners } from '../listener/gateway.listeners.js'
import type { DoorState } from '../listener/owner.doors.js'
import { TlsIdentity } from '../listener/tls.identity.js'
import { TrustTail } from '../trust/trust.tail.js'
import { type AccessFields, type AccessRecord, AccessRepository } from './access.repository.js'
import { localUrlOf, urlsOf } from './base.urls.js'
import { detailOf } from './listener.detail.js'

type Update = InputOf<(typeof contract)['access.update']>

/** Times that a change is begun anew because another gateway was faster. */
const attempts = 5

const unique = (values: readonly string[]): string[] => [...new Set(values)]

const changedBy = (record: AccessRecord, { listen, hosts, origins }: Update): AccessFields => ({
  listen: listen ? unique(listen.map((address) => address.toLowerCase())) : record.listen,
  hosts: hosts ? unique(hosts.map((host) => hostNameOf(host) ?? host)) : record.hosts,
  origins: origins ? unique(origins) : record.origins,
})

const isSame = (record: AccessRecord, fields: AccessFields): boolean =>
  (['listen', 'hosts', 'origins'] as const).every((name) => record[name].join() === fields[name].join())

/** Where the daemon is reached from: the row, and what this gateway makes of it. */
@Injectable()
export class AccessService {
  #last: AccessRecord | undefined
  /** One after the other: between an address that opens and the row that names it nobody may tidy up. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(
    @Inject(AccessRepository) private readonly repository: AccessRepository,
    @Inject(GatewayListeners) private readonly listeners: GatewayListeners,
    @Inject(AllowedHosts) private readonly hosts: AllowedHosts,
    @Inject(AllowedOrigins) private readonly origins: AllowedOrigins,
    @Inject(TrustTail) private readonly tail: TrustTail,
    @Inject(TlsIdentity) private readonly tls: TlsIdentity | null,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** The owner's further listeners, as they are at this gateway. */
  get listen(): Access['listen'] {
    return this.listeners.further.states(this.#last?.listen ?? []).map((state) => this.#stateOf(state))
  }

  /** Brings this gateway to what the rows say. */
  look(): Promise<void> {
    return this.#inTurn(async () => {
      const [record, apps] = await Promise.all([this.repository.read(), this.repository.originsOfApps()])
      this.origins.permitApps(apps)
      await this.#follow(record)
    })
  }

  async retrieve(): Promise<Access> {
    return this.#viewOf(await this.repository.read())
  }

  /** @throws SvcError `address_unavailable`: nothing is stored, and what was open stays. */
  update(ctx: Context, change: Update): Promise<Access> {
    return this.#inTurn(async () => {
      for (let attempt = 0; attempt < attempts; attempt += 1) {
        const record = await this.repository.read()
        const fields = changedBy(record, change)
        if (isSame(record, fields)) return this.#viewOf(record)
        const written = await this.#write(ctx, record, fields)
        if (written) return this.#viewOf(written)
      }
      throw new SvcError('version_conflict')
    })
  }

  /** Opens first, and stores what could be opened. A daemon that dies between has stored nothing and listens nowhere. */
  async #write(ctx: Context, before: AccessRecord, fields: AccessFields): Promise<AccessRecord | undefined> {
    const { further } = this.listeners
    await further.open(fields.listen.filter((address) => !before.listen.includes(address)))
    try {
      const written = await this.repository.replace(ctx, fields, before.version, () => this.tail.tell({ access: true }))
      if (written) await this.#follow(written)
      return written
    } catch (error) {
      // whether it was committed may be unknown: the next look reads it
      await further.keep(before.listen)
      throw error
    }
  }

  async #follow(record: AccessRecord): Promise<void> {
    this.#last = record
    this.hosts.allow(record)
    this.origins.permitOwners(record.origins)
    await this.listeners.further.keep(record.listen)
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => undefined)
    return done
  }

  #viewOf(record: AccessRecord): Access {
    const interfaces = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
    const { owner, app } = this.listeners.main
    const told = this.settings.SVC_BASE_URL
    const states = this.listeners.further.states(record.listen)
    const doors = states.flatMap((state) => ('door' in state ? [state.door] : []))
    return {
      listen: states.map((state) => this.#stateOf(state)),
      base_urls: unique([
        told ?? localUrlOf(owner),
        ...(told ? [] : urlsOf(owner, interfaces)),
        ...doors.flatMap((door) => urlsOf(door, interfaces)),
      ]),
      app_base_url: localUrlOf(app),
      hosts: [...record.hosts],
      origins: [...record.origins],
      version: record.version,
      updated_at: isoTime(record.updatedAt),
    }
  }

  #stateOf(state: DoorState): Access['listen'][number] {
    if (!('door' in state)) return { address: state.address, tls: false, state: 'failed', detail: state.why }
    const { address, door } = state
    const detail = detailOf(door, this.tls, this.clock.now())
    return { address, tls: door.entrance.tls, state: 'open', detail }
  }
}
