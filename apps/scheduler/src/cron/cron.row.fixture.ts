import type { CronRecord } from './cron.record.js'

const made = new Date('2026-03-01T00:00:00.000Z')

/** A schedule of the owner's, each ten minutes, unless it says otherwise. */
export const cronRow = (more: Partial<CronRecord> = {}): CronRecord => ({
  id: 'cron_01jn7v5k4yer6rjxz9x8s8h0aa',
  name: 'tick',
  owner_node_id: null,
  owner_path: [],
  app_id: null,
  profile: null,
  authority: { kind: 'owner', principal: 'owner', node_id: null, app_id: null, profile: null, scopes: ['*'] },
  created_by: { kind: 'owner', id: null },
  schedule: { every: 600 },
  action: { type: 'bash', cwd: '/tmp', command: 'true', timeout: 1000 },
  target_node_id: null,
  missed: 'once',
  catchup_window_s: 3600,
  overlap: 'skip',
  jitter_s: 0,
  start_at: null,
  end_at: null,
  max_failures: 3,
  delete_after_run: false,
  status: 'active',
  pause_reason: null,
  consecutive_failures: 0,
  anchor_at: made,
  next_slot: new Date(made.getTime() + 600_000),
  next_due: new Date(made.getTime() + 600_000),
  version: 1,
  created_at: made,
  updated_at: made,
  ...more,
})
