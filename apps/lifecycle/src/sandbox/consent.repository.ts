import { Injectable } from '@nestjs/common'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

export interface Consent {
  readonly words: string
  readonly given_by: string
  readonly given_at: Date
}

/** What the owner agreed to; a consent that was taken back stays in the table. */
@Injectable()
export class ConsentRepository {
  /** The consent that stands. */
  async standing(reader: Reader): Promise<Consent | null> {
    const [row] = await reader.query<Consent>(
      "SELECT words, given_by, given_at FROM canvas.consents WHERE subject = 'sandbox' AND revoked_at IS NULL",
    )
    return row ?? null
  }

  /** Changes nothing where one stands already. */
  give(tx: Tx, { words, given_by, given_at }: Consent): void {
    tx.send(
      `INSERT INTO canvas.consents (subject, words, given_by, given_at) VALUES ('sandbox', $1, $2, $3)
       ON CONFLICT (subject) WHERE revoked_at IS NULL DO NOTHING`,
      [words, given_by, given_at],
    )
  }

  revoke(tx: Tx, by: string, at: Date): void {
    tx.send(
      `UPDATE canvas.consents SET revoked_by = $1, revoked_at = $2 WHERE subject = 'sandbox' AND revoked_at IS NULL`,
      [by, at],
    )
  }
}
