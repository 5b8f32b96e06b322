import type { Duplex } from 'node:stream'
import type pg from 'pg'
import type { Database } from './database.js'
import type { BorrowedPrisma } from './prisma-view.js'
import { isAftermath, isConnectionLoss, isRefusal, mayHaveCommitted } from './sql-errors.js'
import { statement } from './statements.js'
import type { NewEvent, OutboxMessage, PrismaTx, Tx } from './tx.js'

type Effect = () => void | Promise<void>

/** One attempt of one transaction on one connection. Made by the writer, which also ends it. */
export class Transaction implements Tx {
  readonly events: NewEvent[] = []
  readonly messages: OutboxMessage[] = []
  readonly effects: Effect[] = []
  readonly #database: Database
  readonly #connection: pg.PoolClient
  readonly #statements: Promise<unknown>[] = []
  #failure: { readonly error: unknown } | undefined
  #prisma: Promise<BorrowedPrisma> | undefined
  #ended = false
  #collecting = false
  /** COMMIT went out and was not answered: what became of the transaction is not known. */
  inDoubt = false

  private constructor(database: Database, connection: pg.PoolClient) {
    this.#database = database
    this.#connection = connection
    this.send('BEGIN')
  }

  /** BEGIN goes out with the first statement. */
  static async begin(database: Database): Promise<Transaction> {
    return new Transaction(database, await database.connect())
  }

  async query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    return (await this.#run(text, values)).rows as Row[]
  }

  async count(text: string, values?: readonly unknown[]): Promise<number> {
    return (await this.#run(text, values)).rowCount ?? 0
  }

  send(text: string, values?: readonly unknown[]): void {
    void this.#run(text, values).catch(() => undefined) // kept as the transaction's failure
  }

  async prisma(): Promise<PrismaTx> {
    this.#prisma ??= this.#database.boundPrisma().then((bound) => bound.borrow(this.#connection))
    return (await this.#prisma).tx
  }

  emit(event: NewEvent): void {
    this.events.push(event)
  }

  deliver(message: OutboxMessage): void {
    this.messages.push(message)
  }

  afterCommit(effect: Effect): void {
    this.effects.push(effect)
  }

  /** @throws what the first failed statement threw, whichever of them it was; the transaction is then rolled back. */
  async commit(): Promise<void> {
    await this.#returnPrisma()
    this.#throwFailure()
    const commit = this.#run('COMMIT')
    this.#ended = true
    const [result] = await Promise.allSettled([commit, ...this.#statements])
    const refused = isRefusal(this.rootCause(undefined))
    this.inDoubt = result.status === 'rejected' && mayHaveCommitted(result.reason) && !refused
    this.#throwFailure()
    if (result.status === 'fulfilled' && result.value.command !== 'COMMIT')
      throw new Error('the transaction was rolled back')
    this.#connection.release()
  }

  /** Undoes everything and frees the connection. Never throws: a connection that can't roll back is thrown away. */
  async abandon(): Promise<void> {
    const usable = !this.#failure || !isConnectionLoss(this.#failure.error)
    const clean = usable && !this.#ended ? await this.#rollback() : usable
    this.#ended = true
    this.#connection.release(!clean)
  }

  /** The error that made the transaction fail, in place of one that only follows from it. */
  rootCause(error: unknown): unknown {
    return this.#failure && (isAftermath(error) || error === undefined) ? this.#failure.error : error
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error
  }

  /** What is sent before the process turns to something else leaves in one piece: a system call costs as much as a statement. */
  #collect(): void {
    if (this.#collecting) return
    this.#collecting = true
    const { stream } = (this.#connection as unknown as { connection: { stream: Duplex } }).connection
    stream.cork()
    process.nextTick(() => {
      this.#collecting = false
      stream.uncork()
    })
  }

  async #rollback(): Promise<boolean> {
    try {
      await this.#returnPrisma()
      const undone = this.#run('ROLLBACK')
      // at once: what another branch of the work still sends would come after it, and stand by itself
      this.#ended = true
      await undone
      return true
    } catch {
      return false // the caller throws the error that led here; this connection is not used again
    }
  }

  async #returnPrisma(): Promise<void> {
    if (this.#prisma !== undefined) await (await this.#prisma).giveBack()
    this.#prisma = undefined
  }

  async #run(text: string, values?: readonly unknown[]): Promise<pg.QueryResult> {
    if (this.#ended) throw new Error('the transaction has ended already')
    this.#collect()
    const answer = this.#connection.query(statement(text, values))
    this.#statements.push(answer)
    try {
      return await answer
    } catch (error) {
      if (!this.#failure || isAftermath(this.#failure.error)) this.#failure = { error }
      throw error
    }
  }
}
