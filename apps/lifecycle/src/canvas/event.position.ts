import { createHash } from 'node:crypto'
import { SvcError } from '#common/kernel/errors.js'

/** Where a reader of all events stands: behind one event, or before the first of a transaction. */
export interface EventPosition {
  /** Number of the transaction, which is too large for a JavaScript number. */
  readonly xid: string
  /** Empty: before the first event of the transaction. */
  readonly rootId: string
  readonly treeSeq: number
}

export const oldest: EventPosition = { xid: '0', rootId: '', treeSeq: 0 }
export const before = (xid: string): EventPosition => ({ xid, rootId: '', treeSeq: 0 })

const form = /^([0-9a-f]{12})\.(\d{1,20})\.((?:node_[0-9a-z]{26})?)\.(\d{1,15})\.([0-9a-f]{8})$/

const checkOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8)

/** @param line the database's own name, since positions of another one mean nothing here */
export const cursorOf = (line: string, { xid, rootId, treeSeq }: EventPosition): string => {
  const text = `${line}.${xid}.${rootId}.${treeSeq}`
  return Buffer.from(`${text}.${checkOf(text)}`).toString('base64url')
}

/** @throws SvcError malformed_request for anything that `cursorOf` did not make */
export const positionOf = (cursor: string): { readonly line: string; readonly position: EventPosition } => {
  const text = Buffer.from(cursor, 'base64url').toString()
  const [whole, line = '', xid = '', rootId = '', treeSeq = '', check] = form.exec(text) ?? []
  if (!whole || check !== checkOf(text.slice(0, text.lastIndexOf('.')))) {
    throw new SvcError('malformed_request', 'The cursor is not a position that this daemon gave.', { field: 'after' })
  }
  return { line, position: { xid, rootId, treeSeq: Number(treeSeq) } }
}
