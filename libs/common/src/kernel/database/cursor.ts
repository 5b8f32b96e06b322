import { SvcError } from '../errors.js'

export interface Position {
  readonly createdAt: Date
  readonly id: string
}

/** An opaque cursor over (created_at, id), which stays where it is while rows are written. */
export const cursorAfter = (createdAt: Date, id: string): string =>
  Buffer.from(`${createdAt.getTime()}.${id}`).toString('base64url')

/** @throws SvcError validation_failed */
export const readCursor = (cursor: string | undefined): Position | undefined => {
  if (cursor === undefined) return undefined
  const match = /^(\d{1,15})\.([\w:]{1,64})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) {
    throw new SvcError('validation_failed', undefined, {
      errors: [{ pointer: '/after', message: 'must be the next_cursor of an earlier page' }],
    })
  }
  return { createdAt: new Date(Number(match[1])), id: match[2] as string }
}

export interface Page<T> {
  data: T[]
  next_cursor: string | null
  has_more: boolean
}

/** A page of at most `limit` out of rows that were asked for with `limit + 1`. */
export const pageOf = <T>(rows: readonly T[], limit: number, cursor: (row: T) => string): Page<T> => {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const more = rows.length > limit
  return { data: page, next_cursor: more && last !== undefined ? cursor(last) : null, has_more: more }
}
