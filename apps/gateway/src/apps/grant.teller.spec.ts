import { expect, it } from '@jest/globals'
import type { Bus } from '#common/kernel/bus/bus.js'
import { systemClock } from '#common/kernel/clock.js'
import { createLogger } from '#common/kernel/log.js'
import type { GrantRecord } from './grant.record.js'
import type { GrantRepository } from './grant.repository.js'
import { GrantTeller } from './grant.teller.js'

const grant = (appId: string): GrantRecord => ({
  appId,
  scopes: [],
  profiles: null,
  version: 1,
  status: 'active',
  updatedAt: 0,
})

/** So many turns of the queue of microtasks. */
const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await null
}

// One that came to be owed just when the last look had found nothing more was told half a minute later.
it('a change that comes while the one before is just told is told at once too', async () => {
  for (let after = 0; after < 40; after += 1) {
    const told: string[] = []
    const repository = { findAll: async (ids: readonly string[]) => ids.map(grant) }
    const bus = {
      call: async (_entry: unknown, _ctx: unknown, { grants }: { grants: { app_id: string }[] }) => {
        told.push(...grants.map(({ app_id }) => app_id))
        if (told[0] === 'first' && told.length === 1) {
          void turns(after).then(() => teller.tell('second', 1000))
        }
      },
    }
    const teller: GrantTeller = new GrantTeller(
      bus as unknown as Bus,
      repository as unknown as GrantRepository,
      systemClock,
      createLogger('gateway', 'silent'),
    )
    await teller.tell('first', 1000)
    await turns(200)
    expect([after, ...told]).toEqual([after, 'first', 'second'])
  }
})
