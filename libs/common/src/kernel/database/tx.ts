import type { NodeEventType } from '../../contract/node.schema.js'
import type { Prisma } from './generated/client.js'

/** What Prisma's client offers inside a transaction. */
export type PrismaTx = Prisma.TransactionClient

/**
 * Where rows are read, inside a transaction or outside. Each text is prepared once a connection and planned once, whatever
 * its values: keep texts constant, and write one text for each set of filters rather than `$1 IS NULL OR …`.
 */
export interface Reader {
  /** Rows of one statement; one round trip. */
  query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>
}

/**
 * The handle of one open transaction; repositories take it and nothing else. Statements go out in the order of the
 * calls and need not be awaited one by one: those that nobody waits for share the round trip of the next one that
 * somebody does.
 */
export interface Tx extends Reader {
  /** Sends a statement whose answer nobody needs. An error of it fails the transaction at its next awaited statement or at commit. */
  send(text: string, values?: readonly unknown[]): void
  /** Rows that the statement changed. */
  count(text: string, values?: readonly unknown[]): Promise<number>
  /** Prisma's client on this transaction's connection. Loaded on first use in the process; about 2.5 ms of CPU a transaction. */
  prisma(): Promise<PrismaTx>
  /** Records an event of a node. Numbered and written as the last statement before commit, published after it. */
  emit(event: NewEvent): void
  /** Records a message for another service; its relay delivers it at least once. A key that exists already is a no-op. */
  deliver(message: OutboxMessage): void
  /** Runs after commit, in order of the calls, never after a rollback. What it throws is logged: it can't undo anything. */
  afterCommit(effect: () => void | Promise<void>): void
}

export interface NewEvent {
  readonly nodeId: string
  readonly type: NodeEventType
  readonly data: Readonly<Record<string, unknown>>
  /** Event of another resource that led to this one. */
  readonly causationId?: string
  /** The request that it comes of; that of the transaction unless given. */
  readonly correlationId?: string
}

export interface OutboxMessage {
  /** Unique for ever: `<type>:<id of what it is about>`. */
  readonly key: string
  readonly target: string
  readonly type: string
  readonly payload: unknown
}
