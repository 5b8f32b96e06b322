import { z } from 'zod'
import { idOf, time } from './common.schema.js'

export const appId = idOf('app')

export const appName = z
  .string()
  .regex(/^(?!app_)[a-z0-9][a-z0-9_.-]{0,63}$/, 'must be a name of a-z, 0-9, _ . - that does not begin with app_')

/** An app by its id or its name. */
export const appRef = z.string().regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/, 'must be the id or the name of an app')

/** Scheme, host and port as a browser sends them in `Origin`. */
export const origin = z
  .string()
  .max(300)
  .refine((text) => {
    if (!URL.canParse(text)) return false
    const { origin: plain, protocol } = new URL(text)
    return plain === text && /^https?:$/.test(protocol) && !text.includes('*')
  }, 'must be an origin: scheme, host and port without a path, as https://notes.example')

export const scopeList = z.array(z.string().max(4300)).max(200)

export const grantStatuses = ['active', 'revoked'] as const

/** What a person permits an app. Everything that runs for the app is held to it as it is now. */
export const grant = z
  .object({
    app_id: appId,
    user_id: z.string(),
    scopes: z.array(z.string()),
    profiles: z.array(z.string()).nullable().meta({ description: 'Profiles of the app that it is for; null: all' }),
    version: z.int().min(1).meta({ description: 'Grows with every change' }),
    status: z.enum(grantStatuses),
    updated_at: time,
  })
  .meta({ id: 'Grant' })
export type Grant = z.infer<typeof grant>

export const app = z
  .object({
    id: appId,
    name: z.string(),
    description: z.string().nullable(),
    origins: z.array(z.string()).meta({ description: 'Pages of these origins may call the application listener' }),
    grant,
    tokens: z.int().meta({ description: 'Tokens that work now' }),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'App' })
export type App = z.infer<typeof app>
