import type { Cron } from '#common/contract/cron.schema.js'
import type { SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'
import type { FireRecord } from './fire.record.js'

/** Writes a line of a schedule as if it had come about; on time, unless it says otherwise. */
export const writeFire = async (
  { database }: SchedulerUnderTest,
  cron: Pick<Cron, 'id' | 'name' | 'owner_node_id' | 'app_id'>,
  { slot, ...more }: { slot: Date } & Partial<FireRecord>,
): Promise<void> => {
  const row = {
    cron_id: cron.id,
    slot,
    trigger: 'schedule',
    status: 'succeeded',
    slots: 1,
    last_slot: slot,
    due_at: slot,
    noted_at: slot,
    name: cron.name,
    owner_node_id: cron.owner_node_id,
    owner_path: cron.owner_node_id === null ? [] : [cron.owner_node_id],
    app_id: cron.app_id,
    ...more,
  }
  const names = Object.keys(row)
  const places = names.map((_, at) => `$${at + 1}`)
  await database.query(
    `INSERT INTO scheduler.fires (${names.join(', ')}) VALUES (${places.join(', ')})`,
    Object.values(row),
  )
}
