import type { CustomObject, Receiver } from '#common/contract/object.schema.js'
import type { Actor } from '#common/kernel/context.js'

/** How a receiver shows to others than its owner: an address may hold a secret, as may arguments and environments. */
const outlined = (receiver: Receiver): Receiver => {
  const { max_pending } = receiver
  if (receiver.type === 'url')
    return { type: 'url', url: `${new URL(receiver.url).origin}/`, allow_private: receiver.allow_private, max_pending }
  return receiver.type === 'argv' ? { type: 'argv', argv: receiver.argv.slice(0, 1), max_pending } : receiver
}

/** An object as this caller may see it: the owner whole, all others with no more of its receiver than host or program. */
export const shownTo = ({ kind }: Actor, object: CustomObject): CustomObject =>
  kind === 'owner' || kind === 'system' || object.receiver === null
    ? object
    : { ...object, receiver: outlined(object.receiver) }
