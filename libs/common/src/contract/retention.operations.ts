import { z } from 'zod'
import { time } from './common.schema.js'
import { operation } from './define.js'

export const retention = z
  .object({
    classes: z.array(
      z.object({
        class: z.string(),
        what: z.string(),
        kept: z.string().meta({ description: 'How long, in words' }),
        days: z
          .int()
          .nullable()
          .meta({ description: 'How long, where time decides; null: for ever, or as long as something else' }),
        setting: z.string().nullable().meta({ description: 'The setting that changes it' }),
        rows: z.int().meta({ description: 'About how many rows it has' }),
        bytes: z.int().meta({ description: 'What its tables take on the disk, with their indexes' }),
        last_run_at: time.nullable(),
        removed: z.int().meta({ description: 'What the last run removed' }),
        removed_total: z.int(),
      }),
    ),
    database_bytes: z.int(),
  })
  .meta({ id: 'Retention' })
export type Retention = z.infer<typeof retention>

export const retentionOperations = [
  operation({
    name: 'retention.show',
    kind: 'untyped',
    summary: 'How long what is kept, how much room it takes, and what was cleared last',
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/retention',
    listeners: ['owner'],
    gate: 'owner',
    response: retention,
  }),
] as const
