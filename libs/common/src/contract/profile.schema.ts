import { z } from 'zod'
import { slug, time } from './common.schema.js'
import { nodeCreate } from './node.schema.js'

/** What a profile may say of the nodes that are made with it; the body of `nodes.create` overrules it. */
export const profileDefaults = nodeCreate
  .pick({
    kind: true,
    mode: true,
    lifecycle: true,
    cwd: true,
    model: true,
    scopes: true,
    engine: true,
    exec: true,
  })
  .meta({ id: 'ProfileDefaults' })
export type ProfileDefaults = z.infer<typeof profileDefaults>

export const profileName = slug.meta({ examples: ['reviewer'] })

export const profileBody = z.strictObject({
  display_name: z.string().min(1).max(128).optional().meta({ description: 'The name unless given' }),
  defaults: profileDefaults
    .default({})
    .meta({ description: 'Fields that a node made with this profile has unless its body says otherwise' }),
  app_id: z
    .string()
    .min(1)
    .max(128)
    .nullable()
    .default(null)
    .meta({ description: 'The application whose nodes may use it; null: any' }),
  if_match: z
    .int()
    .min(0)
    .optional()
    .meta({ description: 'Only when the profile is at this version; 0: only when there is none' }),
})

export const profile = z
  .object({
    name: profileName,
    display_name: z.string(),
    defaults: profileDefaults,
    app_id: z.string().nullable(),
    version: z.int().min(1),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Profile' })
export type Profile = z.infer<typeof profile>
