import { Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Position } from '#common/kernel/database/cursor.js'
import { Database } from '#common/kernel/database/database.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { Writer } from '#common/kernel/database/writer.js'

import { appendLines, lockHead } from '../audit/audit.chain.js'
import { ownLine } from '../audit/audit.line.js'

/** A token as it is kept: never the token itself. Times in milliseconds since the epoch. */
export interface TokenRecord {
  /** `tok_…`; what stands in the token is this without its prefix. */
  readonly id: string
  readonly kind: 'own' | 'app' | 'run' | 'pub' | 'rt'
  readonly hash: Uint8Array
  readonly label: string | null
  readonly appId: string | null
  readonly profile: string | null
  /** The object that a publish token publishes to. */
  readonly objectRef: string | null
  readonly scopes: readonly string[]
  /** It has no list of its own. */
  readonly followsGrant: boolean
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly lastUsedAt: number | null
  readonly revokedAt: number | null
  readonly rotatedFrom: string | null
}

interface Row {
  id: string
  kind: TokenRecord['kind']
  hash: Buffer
  label: string | null
  app_id: string | null
  profile: string | null
  object_ref: string | null
  scopes: string[]
  follows_grant: boolean
  created_at: Date
  expires_at: Date | null
  last_used_at: Date | null
  revoked_at: Date | null
  rotated_from: string | null
}

export interface TokenFilter {
  readonly appId?: string | undefined
  readonly status?: 'active' | 'expired' | 'revoked' | undefined
}

const prefix = 'tok_'
/** How an id stands in the token and in its row: without its prefix. */
export const inTokenOf = (id: string): string => id.slice(prefix.length)
export const tokenIdOf = (inToken: string): string => prefix + inToken

const columns =
  'id, kind, hash, label, app_id, profile, object_ref, scopes, follows_grant, created_at, expires_at, last_used_at, revoked_at, rotated_from'

const toToken = (row: Row): TokenRecord => ({
  id: tokenIdOf(row.id),
  kind: row.kind,
  hash: row.hash,
  label: row.label,
  appId: row.app_id,
  profile: row.profile,
  objectRef: row.object_ref,
  scopes: row.scopes,
  followsGrant: row.follows_grant,
  createdAt: row.created_at.getTime(),
  expiresAt: row.expires_at?.getTime() ?? null,
  lastUsedAt: row.last_used_at?.getTime() ?? null,
  revokedAt: row.revoked_at?.getTime() ?? null,
  rotatedFrom: row.rotated_from === null ? null : tokenIdOf(row.rotated_from),
})

const dateOf = (ms: number | null): Date | null => (ms === null ? null : new Date(ms))

const inserted = `INSERT INTO gateway.tokens (${columns})
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`

const valuesOf = (token: TokenRecord): unknown[] => [
  inTokenOf(token.id),
  token.kind,
  token.hash,
  token.label,
  token.appId,
  token.profile,
  token.objectRef,
  token.scopes,
  token.followsGrant,
  dateOf(token.createdAt),
  dateOf(token.expiresAt),
  dateOf(token.lastUsedAt),
  dateOf(token.revokedAt),
  token.rotatedFrom === null ? null : inTokenOf(token.rotatedFrom),
]

const statusTexts = {
  active: 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)',
  expired: 'revoked_at IS NULL AND expires_at <= $1',
  revoked: 'revoked_at IS NOT NULL AND $1::timestamptz IS NOT NULL',
}

@Injectable()
export class TokenRepository {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Writer) private readonly writer: Writer,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async find(id: string, from: Reader = this.database): Promise<TokenRecord | undefined> {
    const [row] = await from.query<Row>(`SELECT ${columns} FROM gateway.tokens WHERE id = $1`, [inTokenOf(id)])
    return row && toToken(row)
  }

  /** As `find`; nobody else changes it before the transaction ends. */
  async lock(tx: Tx, id: string): Promise<TokenRecord | undefined> {
    const [row] = await tx.query<Row>(`SELECT ${columns} FROM gateway.tokens WHERE id = $1 FOR UPDATE`, [inTokenOf(id)])
    return row && toToken(row)
  }

  /** Those after a position, the newest first. */
  async page(filter: TokenFilter, limit: number, after: Position | undefined): Promise<TokenRecord[]> {
    const values: unknown[] = [new Date(this.clock.now()), limit]
    const value = (given: unknown): string => `$${values.push(given)}`
    const conditions = [
      filter.status ? statusTexts[filter.status] : '$1::timestamptz IS NOT NULL',
      ...(filter.appId === undefined ? [] : [`app_id = ${value(filter.appId)}`]),
      ...(after ? [`(created_at, id) < (${value(after.createdAt)}, ${value(inTokenOf(after.id))})`] : []),
    ]
    const rows = await this.database.query<Row>(
      `SELECT ${columns} FROM gateway.tokens WHERE ${conditions.join(' AND ')} ORDER BY created_at DESC, id DESC LIMIT $2`,
      values,
    )
    return rows.map(toToken)
  }

  async insert(tx: Tx, token: TokenRecord): Promise<void> {
    await tx.count(inserted, valuesOf(token))
  }

  /** The token that was put in this one's place. */
  async successorOf(tx: Tx, id: string): Promise<string | undefined> {
    const [row] = await tx.query<{ id: string }>('SELECT id FROM gateway.tokens WHERE rotated_from = $1', [
      inTokenOf(id),
    ])
    return row && tokenIdOf(row.id)
  }

  async revoke(tx: Tx, id: string, at: number): Promise<void> {
    await tx.count('UPDATE gateway.tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL', [
      inTokenOf(id),
      new Date(at),
    ])
  }

  /** Ends it at a time, if it doesn't end before. */
  async expire(tx: Tx, id: string, at: number): Promise<void> {
    await tx.count('UPDATE gateway.tokens SET expires_at = least(expires_at, $2) WHERE id = $1', [
      inTokenOf(id),
      new Date(at),
    ])
  }

  /** Whether it was added: an object has one publish token without an end. */
  async insertPublishing(tx: Tx, token: TokenRecord): Promise<boolean> {
    const lasting =
      "ON CONFLICT (object_ref) WHERE kind = 'pub' AND revoked_at IS NULL AND expires_at IS NULL DO NOTHING"
    return (await tx.count(`${inserted} ${lasting}`, valuesOf(token))) === 1
  }

  /**
   * Ends the publish tokens of an object that work: now, or those that go on longer at a time. Answers their ids, and which
   * of them was put in the place of the others.
   */
  async endPublishing(tx: Tx, objectId: string, now: number, until = now): Promise<{ ids: string[]; last?: string }> {
    const end = until > now ? 'expires_at = least(expires_at, $3)' : 'revoked_at = $3'
    const rows = await tx.query<{ id: string; replaced: boolean }>(
      `UPDATE gateway.tokens t SET ${end}
       WHERE object_ref = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)
       RETURNING id, EXISTS (SELECT 1 FROM gateway.tokens s WHERE s.rotated_from = t.id) AS replaced`,
      [objectId, new Date(now), new Date(until)],
    )
    const last = rows.find(({ replaced }) => !replaced)
    return { ids: rows.map(({ id }) => tokenIdOf(id)), ...(last && { last: tokenIdOf(last.id) }) }
  }

  /** Writes when tokens were last used; never an earlier time over a later one. */
  async used(times: ReadonlyMap<string, number>): Promise<void> {
    const ids = [...times.keys()].sort()
    await this.writer.transact(systemContext('gateway'), ({ tx }) =>
      tx.count(
        `UPDATE gateway.tokens t SET last_used_at = u.at FROM unnest($1::text[], $2::timestamptz[]) AS u (id, at)
         WHERE t.id = u.id AND (t.last_used_at IS NULL OR t.last_used_at < u.at)`,
        [ids.map(inTokenOf), ids.map((id) => new Date(times.get(id) as number))],
      ),
    )
  }

  /**
   * Makes this the one owner's token: any other is revoked, and it comes back if it was. Those that were rotated go on
   * for as long as they were given, unless this one is new here. The audit log has it with the same commit.
   */
  async install(owner: {
    readonly id: string
    readonly hash: Uint8Array
    /** Others could read its file. */
    readonly exposed: boolean
  }): Promise<void> {
    const now = new Date(this.clock.now())
    await this.writer.transact(systemContext('gateway'), async ({ tx }) => {
      tx.send(
        `UPDATE gateway.tokens SET revoked_at = $2 WHERE kind = 'own' AND id <> $1 AND revoked_at IS NULL
         AND NOT (expires_at IS NOT NULL
           AND EXISTS (SELECT 1 FROM gateway.tokens WHERE id = $1 AND revoked_at IS NULL))`,
        [inTokenOf(owner.id), now],
      )
      const changed = await tx.count(
        `INSERT INTO gateway.tokens (id, kind, hash, scopes, created_at) VALUES ($1, 'own', $2, '{*}', $3)
         ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, revoked_at = NULL, expires_at = NULL
         WHERE tokens.hash <> excluded.hash OR tokens.revoked_at IS NOT NULL OR tokens.expires_at IS NOT NULL`,
        [inTokenOf(owner.id), owner.hash, now],
      )
      const said = [
        ...(changed > 0 ? ['owner_token.installed'] : []),
        ...(owner.exposed ? ['owner_token.exposed'] : []),
      ]
      if (said.length === 0) return
      const lines = said.map((operation) => ownLine(now.getTime(), operation, owner.id))
      appendLines(tx, await lockHead(tx), lines)
    })
  }

  /** The id of the owner's token that others were replaced by; undefined before the first. */
  async ownerId(): Promise<string | undefined> {
    const [row] = await this.database.query<{ id: string }>(
      "SELECT id FROM gateway.tokens WHERE kind = 'own' AND revoked_at IS NULL AND expires_at IS NULL",
    )
    return row && tokenIdOf(row.id)
  }
}
