import { Inject, Injectable } from '@nestjs/common'
import type { contract, InputOf, OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Writer } from '#common/kernel/database/writer.js'
import { Supervisor } from '../supervision/supervisor.service.js'
import { GrantRepository } from './grant.repository.js'

type Changed = (typeof contract)['lifecycle.grant.changed']

/** Takes in what apps are granted now. */
@Injectable()
export class GrantService {
  constructor(
    private readonly writer: Writer,
    private readonly grants: GrantRepository,
    private readonly supervisor: Supervisor,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Then every node is looked at: some must rest now, some may go on. Told again and again, so most of it is known. */
  async changed(ctx: Context, { grants }: InputOf<Changed>): Promise<OutputOf<Changed>> {
    const noted = await this.writer.transact(ctx, async ({ tx }) => {
      const at = new Date(this.clock.now())
      const known = await this.grants.findAll(
        tx,
        grants.map(({ app_id }) => app_id),
      )
      const newer = grants.filter(({ app_id, version }) => (known.get(app_id)?.version ?? 0) < version)
      let changed = 0
      // in one order, so that two who tell at once don't wait for each other
      for (const grant of newer.sort((a, b) => (a.app_id < b.app_id ? -1 : 1))) {
        if (await this.grants.put(tx, grant, at)) changed += 1
      }
      return changed
    })
    if (noted > 0) this.supervisor.poke()
    return { noted }
  }
}
