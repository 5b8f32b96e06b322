import { Inject, Injectable } from '@nestjs/common'
import {
  contract,
  type InputOf,
  type LedgerEntry,
  type LedgerKind,
  type LedgerState,
  type OutputOf,
} from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { Horizons } from '../canvas/horizon.js'
import { LaunchCauses } from './launch.cause.js'
import {
  expiredEntry,
  faultEntry,
  jobEntry,
  launchEntry,
  relaunchEntry,
  unheardEntry,
  waitEntry,
} from './ledger.entries.js'
import { LedgerRepository } from './ledger.repository.js'
import type { LedgerView } from './ledger.view.js'

const operation = contract['lifecycle.ledger.read']

/** How long (ms) a wait may be over before it counts as overlooked. */
const wakeGrace = 5000

/** A kind of row that tells of something which did not go as planned. */
interface Source {
  readonly kinds: readonly LedgerKind[]
  readonly states: readonly LedgerState[]
  read(view: LedgerView): Promise<LedgerEntry[]>
}

/** The part of the ledger that is about nodes: nothing is written for it, it is read from what is kept anyway. */
@Injectable()
export class LedgerService {
  private readonly sources: readonly Source[]

  constructor(
    private readonly database: Database,
    private readonly horizons: Horizons,
    ledger: LedgerRepository,
    causes: LaunchCauses,
    @Inject(SETTINGS) settings: Settings,
    @Inject(CLOCK) clock: Clock,
  ) {
    const now = (): Date => new Date(clock.now())
    const launches = (view: LedgerView) => ledger.launches(database, view, now(), settings.SVC_BOOT_GRACE_MS)
    this.sources = [
      {
        kinds: ['launch', 'resume'],
        states: ['waiting', 'late', 'failed'],
        read: async (view) => (await ledger.faults(database, view)).map(faultEntry),
      },
      {
        kinds: ['launch'],
        states: ['waiting'],
        read: async (view) => (await launches(view)).map((row) => launchEntry(row, causes.of(row))),
      },
      {
        kinds: ['resume'],
        states: ['waiting'],
        read: async (view) => (await ledger.waits(database, view, new Date(clock.now() - wakeGrace))).map(waitEntry),
      },
      {
        kinds: ['resume'],
        states: ['failed'],
        read: async (view) => (await ledger.relaunches(database, view)).map(relaunchEntry),
      },
      {
        kinds: ['resume'],
        states: ['unknown'],
        read: async (view) => (await ledger.jobs(database, view)).map(jobEntry),
      },
      {
        kinds: ['answer'],
        states: ['omitted'],
        read: async (view) => (await ledger.expired(database, view)).map(expiredEntry),
      },
      {
        kinds: ['answer'],
        states: ['omitted'],
        read: async (view) => (await ledger.unheard(database, view)).map(unheardEntry),
      },
    ]
  }

  /** @throws SvcError not_found when the node of the token is gone */
  async read(ctx: Context, input: InputOf<typeof operation>): Promise<OutputOf<typeof operation>> {
    const { kind, state, since, before, limit } = input
    // what schedules and objects do is for others to tell
    if (input.cron_id !== undefined || input.object_id !== undefined) return { entries: [] }
    const view: LedgerView = {
      horizon: await this.horizons.of(ctx, this.database),
      kind,
      state,
      nodeId: input.node_id,
      appId: input.app_id,
      since: since === undefined ? undefined : new Date(since),
      before: before === null ? undefined : { at: new Date(before.at), id: before.id },
      limit,
    }
    const asked = this.sources.filter(
      ({ kinds, states }) =>
        (kind === undefined || kinds.includes(kind)) && (state === undefined || states.includes(state)),
    )
    const found = await Promise.all(asked.map((source) => source.read(view)))
    return { entries: found.flat().sort(newestFirst).slice(0, limit) }
  }
}

const newestFirst = (a: LedgerEntry, b: LedgerEntry): number =>
  a.at === b.at ? (a.id < b.id ? 1 : -1) : a.at < b.at ? 1 : -1
