import { type Authority, contract, type OutputOf } from '#common/contract/index.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import { type Actor, type Context, systemContext } from '#common/kernel/context.js'

const actor = contract['lifecycle.work.actor']
export type Standing = OutputOf<typeof actor>

const patience = 5000

/** What an authority may do now. @throws what lifecycle said that refused it */
export const standingOf = (bus: Bus, by: Authority, ctx: Context = systemContext('scheduler')): Promise<Standing> =>
  bus.call(actor, ctx, { by }, { timeout: patience })

/** As whom something is done on an authority. */
export const actorOf = (by: Authority, { scopes, place, generation, app_id, profile }: Standing): Actor => ({
  kind: by.kind,
  principal: by.principal,
  tokenId: null,
  scopes,
  ...(app_id !== null && { appId: app_id }),
  ...(profile !== null && { profile }),
  ...(by.node_id !== null && { nodeId: by.node_id }),
  ...(generation !== null && { generation }),
  ...(place && { place }),
})
