import { Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Position } from '#common/kernel/database/cursor.js'
import { Database } from '#common/kernel/database/database.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { tokenIdOf } from '../tokens/token.repository.js'
import { type AppRecord, type AppRow, toAppRecord } from './app.record.js'
import { theUser } from './grant.record.js'

/** $1 is the user, $2 the time now. */
const selected = `SELECT a.id, a.name, a.description, a.origins, a.created_at, a.updated_at,
    g.scopes, g.profiles, g.every_profile, g.version, g.status, g.updated_at AS granted_at,
    (SELECT count(*) FROM gateway.tokens t WHERE t.app_id = a.id AND t.revoked_at IS NULL
      AND (t.expires_at IS NULL OR t.expires_at > $2)) AS tokens
  FROM gateway.apps a JOIN gateway.grants g ON g.app_id = a.id AND g.user_id = $1`

/** What the owner may say of an app. */
export type AppFields = Pick<AppRecord, 'name' | 'description' | 'origins'>

@Injectable()
export class AppRepository {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @param ref its id or its name */
  async find(ref: string, reader: Reader = this.database): Promise<AppRecord | undefined> {
    const by = ref.startsWith('app_') ? 'a.id' : 'a.name'
    const [row] = await reader.query<AppRow>(`${selected} WHERE ${by} = $3`, [...this.#view(), ref])
    return row && toAppRecord(row)
  }

  /** As `find`; its row and its grant's are locked until commit, in this order. */
  async lock(tx: Tx, ref: string): Promise<AppRecord | undefined> {
    const by = ref.startsWith('app_') ? 'a.id' : 'a.name'
    const [row] = await tx.query<AppRow>(`${selected} WHERE ${by} = $3 FOR UPDATE OF a, g`, [...this.#view(), ref])
    return row && toAppRecord(row)
  }

  /** The newest first. */
  async page(before: Position | undefined, limit: number): Promise<AppRecord[]> {
    const order = 'ORDER BY a.created_at DESC, a.id DESC LIMIT $3'
    const rows = before
      ? await this.database.query<AppRow>(`${selected} WHERE (a.created_at, a.id) < ($4, $5) ${order}`, [
          ...this.#view(),
          limit,
          before.createdAt,
          before.id,
        ])
      : await this.database.query<AppRow>(`${selected} ${order}`, [...this.#view(), limit])
    return rows.map(toAppRecord)
  }

  /** Whether the name was free. */
  async insert(tx: Tx, id: string, { name, description, origins }: AppFields, at: number): Promise<boolean> {
    const added = await tx.count(
      `INSERT INTO gateway.apps (id, name, description, origins, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (name) DO NOTHING`,
      [id, name, description, origins, new Date(at)],
    )
    return added === 1
  }

  /** @throws Error of the database when another app has the name: `violatedKey` tells */
  async update(tx: Tx, id: string, { name, description, origins }: AppFields, at: number): Promise<void> {
    await tx.count('UPDATE gateway.apps SET name = $2, description = $3, origins = $4, updated_at = $5 WHERE id = $1', [
      id,
      name,
      description,
      origins,
      new Date(at),
    ])
  }

  /** Its grant's row stays. */
  remove(tx: Tx, id: string): void {
    tx.send('DELETE FROM gateway.apps WHERE id = $1', [id])
  }

  /** Ids of the tokens that this ended. */
  async revokeTokens(tx: Tx, id: string, at: number): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(
      'UPDATE gateway.tokens SET revoked_at = $2 WHERE app_id = $1 AND revoked_at IS NULL RETURNING id',
      [id, new Date(at)],
    )
    return rows.map((row) => tokenIdOf(row.id))
  }

  #view(): [string, Date] {
    return [theUser, new Date(this.clock.now())]
  }
}
