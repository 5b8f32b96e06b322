import { Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'

/** A token as it is kept: never the token itself. */
export interface TokenRecord {
  readonly id: string
  readonly kind: 'own' | 'app' | 'run' | 'pub' | 'rt'
  readonly hash: Uint8Array
  readonly appId: string | null
  readonly profile: string | null
  readonly scopes: readonly string[]
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

interface Row {
  id: string
  kind: TokenRecord['kind']
  hash: Buffer
  app_id: string | null
  profile: string | null
  scopes: string[]
  expires_at: Date | null
  revoked_at: Date | null
}

const toToken = (row: Row): TokenRecord => ({
  id: row.id,
  kind: row.kind,
  hash: row.hash,
  appId: row.app_id,
  profile: row.profile,
  scopes: row.scopes,
  expiresAt: row.expires_at?.getTime() ?? null,
  revokedAt: row.revoked_at?.getTime() ?? null,
})

@Injectable()
export class TokenRepository {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Writer) private readonly writer: Writer,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async find(id: string): Promise<TokenRecord | undefined> {
    const [row] = await this.database.query<Row>(
      'SELECT id, kind, hash, app_id, profile, scopes, expires_at, revoked_at FROM gateway.tokens WHERE id = $1',
      [id],
    )
    return row && toToken(row)
  }

  /** Makes this the one owner's token: any other is revoked, and it comes back if it was. */
  async install(owner: { readonly id: string; readonly hash: Uint8Array }): Promise<void> {
    const now = new Date(this.clock.now())
    await this.writer.transact(systemContext('gateway'), async ({ tx }) => {
      tx.send("UPDATE gateway.tokens SET revoked_at = $2 WHERE kind = 'own' AND id <> $1 AND revoked_at IS NULL", [
        owner.id,
        now,
      ])
      await tx.count(
        `INSERT INTO gateway.tokens (id, kind, hash, scopes, created_at) VALUES ($1, 'own', $2, '{*}', $3)
         ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, revoked_at = NULL
         WHERE tokens.hash <> excluded.hash OR tokens.revoked_at IS NOT NULL`,
        [owner.id, owner.hash, now],
      )
    })
  }
}
