import { Inject, Injectable } from '@nestjs/common'
import type { AttachmentInfo } from '#common/contract/attachment.schema.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { newId } from '#common/kernel/ids.js'
import type { ReadAttachment } from './attachment.content.js'

/** A content that is kept, and what it is called. */
export type KeptAttachment = Omit<ReadAttachment, 'content'>

/** Contents by their hash, each kept once, and what every node has of them. */
@Injectable()
export class AttachmentRepository {
  constructor(@Inject(CLOCK) private readonly clock: Clock) {}

  /** Keeps the contents. In the order of their hashes, so that two transactions can't wait for each other. */
  keep(tx: Tx, read: readonly ReadAttachment[]): KeptAttachment[] {
    const at = new Date(this.clock.now())
    for (const { hash, content } of [...read].sort((a, b) => (a.hash < b.hash ? -1 : 1))) {
      tx.send(
        `INSERT INTO canvas.blobs (hash, size, content, used_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (hash) DO UPDATE SET used_at = greatest(canvas.blobs.used_at, excluded.used_at)`,
        [hash, content.length, content, at],
      )
    }
    return read.map(({ content, ...kept }) => kept)
  }

  /** Gives them to a node, under ids of its own. */
  attach(tx: Tx, nodeId: string, kept: readonly KeptAttachment[]): AttachmentInfo[] {
    const at = new Date(this.clock.now())
    return kept.map(({ hash, ...what }) => {
      const info = { id: newId('att'), ...what }
      tx.send(
        `INSERT INTO canvas.attachments (id, node_id, hash, name, content_type, bytes, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)`,
        [info.id, nodeId, hash, info.name, info.content_type, info.bytes, at],
      )
      return info
    })
  }

  async find(
    reader: Reader,
    nodeId: string,
    id: string,
  ): Promise<{ name: string; content_type: string; content: Buffer } | undefined> {
    const [row] = await reader.query<{ name: string; content_type: string; content: Buffer }>(
      `SELECT a.name, a.content_type, b.content FROM canvas.attachments a JOIN canvas.blobs b USING (hash)
        WHERE a.id = $2 AND a.node_id = $1`,
      [nodeId, id],
    )
    return row
  }

  /** Deletes contents that no node has any more and that nobody used since then; answers how many and how large. */
  async prune(tx: Tx, unusedSince: Date, limit: number): Promise<{ blobs: number; bytes: number }> {
    const rows = await tx.query<{ size: number }>(
      `DELETE FROM canvas.blobs WHERE hash IN (
         SELECT b.hash FROM canvas.blobs b
          WHERE b.used_at < $1 AND NOT EXISTS (SELECT 1 FROM canvas.attachments a WHERE a.hash = b.hash)
          ORDER BY b.used_at LIMIT $2 FOR UPDATE SKIP LOCKED) AND used_at < $1
       RETURNING size`,
      [unusedSince, limit],
    )
    return { blobs: rows.length, bytes: rows.reduce((sum, { size }) => sum + size, 0) }
  }
}
