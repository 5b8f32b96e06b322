import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { type Channel, channels } from './database-session.repository.js'

const NOTIFY = 'SELECT pg_notify($1, $2)'

/** Tells the other replicas at commit that providers, ladders or credentials have changed. */
export const noticeChange = (tx: Tx): void => tx.send(NOTIFY, [channels.changed, ''])

export const notice = async (reader: Reader, channel: Channel, payload: string): Promise<void> => {
  await reader.query(NOTIFY, [channel, payload])
}
