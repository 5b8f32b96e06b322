import { Injectable } from '@nestjs/common'
import type { WatchMode } from '#common/contract/node-care.schema.js'
import type { Position } from '#common/kernel/database/cursor.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

export interface SubscriptionRecord {
  readonly subscriber: string
  readonly publisher: string
  readonly mode: WatchMode
  readonly created_at: Date
}

/** Whom to look for; one of the two is named. */
export interface SubscriptionFilter {
  readonly subscriber?: string | undefined
  readonly publisher?: string | undefined
}

/** Rows of canvas.subscriptions. Whoever changes one has locked both of its nodes. */
@Injectable()
export class SubscriptionRepository {
  async find(reader: Reader, subscriber: string, publisher: string): Promise<SubscriptionRecord | undefined> {
    const [row] = await reader.query<SubscriptionRecord>(
      'SELECT * FROM canvas.subscriptions WHERE subscriber = $1 AND publisher = $2',
      [subscriber, publisher],
    )
    return row
  }

  async watchersOf(reader: Reader, publisher: string): Promise<number> {
    const [row] = await reader.query<{ watchers: number }>(
      'SELECT count(*) AS watchers FROM canvas.subscriptions WHERE publisher = $1',
      [publisher],
    )
    return row?.watchers ?? 0
  }

  put(tx: Tx, { subscriber, publisher, mode, created_at }: SubscriptionRecord): void {
    tx.send(
      `INSERT INTO canvas.subscriptions (subscriber, publisher, mode, created_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT (subscriber, publisher) DO UPDATE SET mode = excluded.mode`,
      [subscriber, publisher, mode, created_at],
    )
  }

  remove(tx: Tx, subscriber: string, publisher: string): void {
    tx.send('DELETE FROM canvas.subscriptions WHERE subscriber = $1 AND publisher = $2', [subscriber, publisher])
  }

  /** Newest first; the id of a position is that of the side which isn't named. */
  page(
    reader: Reader,
    filter: SubscriptionFilter,
    before: Position | undefined,
    limit: number,
  ): Promise<SubscriptionRecord[]> {
    const values: unknown[] = []
    const put = (value: unknown): string => `$${values.push(value)}`
    const other = otherSide(filter)
    const conditions = [
      ...(filter.subscriber === undefined ? [] : [`subscriber = ${put(filter.subscriber)}`]),
      ...(filter.publisher === undefined ? [] : [`publisher = ${put(filter.publisher)}`]),
      ...(before ? [`(created_at, ${other}) < (${put(before.createdAt)}, ${put(before.id)})`] : []),
    ]
    return reader.query<SubscriptionRecord>(
      `SELECT * FROM canvas.subscriptions WHERE ${conditions.join(' AND ')}
        ORDER BY created_at DESC, ${other} DESC LIMIT ${put(limit)}`,
      values,
    )
  }
}

export const otherSide = (filter: SubscriptionFilter): 'subscriber' | 'publisher' =>
  filter.subscriber === undefined ? 'subscriber' : 'publisher'
