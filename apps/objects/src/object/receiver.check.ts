import type { ReceiverChange } from '#common/contract/object.schema.js'
import { requireAllowedUrl } from '../send/address.js'

/** @throws SvcError receiver_refused for an address that nothing may be sent to */
export const requireAllowed = (receiver: ReceiverChange | null | undefined): void => {
  if (receiver?.type === 'url') requireAllowedUrl(receiver.url, receiver.allow_private)
}
