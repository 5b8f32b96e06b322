import type { MailEntry } from '#common/contract/broker.schema.js'
import type { Actor } from '#common/kernel/context.js'

/** The sender of what somebody gives a node. */
export const sourceOf = (actor: Actor): MailEntry['source'] => ({
  kind: actor.kind === 'pub' ? 'system' : actor.kind,
  id: actor.nodeId ?? actor.appId ?? null,
})
