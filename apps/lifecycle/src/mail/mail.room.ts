import { nodeLimits } from '#common/contract/node.schema.js'
import { SvcError } from '#common/kernel/errors.js'
import type { Waiting } from './mail.repository.js'

/** For whatever somebody may ask for again and again: a box that nobody empties must not fill. @throws SvcError quota_exceeded */
export const requireMailRoom = ({ unread }: Pick<Waiting, 'unread'>): void => {
  if (unread < nodeLimits.unreadMail) return
  throw new SvcError('quota_exceeded', 'Whom this is to be told to has too much unread mail.', {
    limit: 'unread_mail',
    max: nodeLimits.unreadMail,
  })
}
