import { Injectable } from '@nestjs/common'
import type { AttachmentInfo } from '#common/contract/attachment.schema.js'
import type { Report } from '#common/contract/node.schema.js'
import { json } from '#common/kernel/database/column-types.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { newId } from '#common/kernel/ids.js'

interface ReportRow {
  readonly id: string
  readonly node_id: string
  readonly engagement: number
  readonly kind: Report['kind']
  readonly body: string
  readonly attachments: AttachmentInfo[] | null
  readonly created_at: Date
}

const toReport = (row: ReportRow): Report => ({
  ...row,
  attachments: row.attachments ?? [],
  created_at: row.created_at.toISOString(),
})

const columns = 'id, node_id, engagement, kind, body, attachments, created_at'

@Injectable()
export class ReportRepository {
  insert(
    tx: Tx,
    report: {
      nodeId: string
      engagement: number
      kind: Report['kind']
      body: string
      attachments: AttachmentInfo[]
      at: Date
    },
  ): Report {
    const row: ReportRow = {
      id: newId('rep'),
      node_id: report.nodeId,
      engagement: report.engagement,
      kind: report.kind,
      body: report.body,
      attachments: report.attachments.length > 0 ? report.attachments : null,
      created_at: report.at,
    }
    tx.send(
      `INSERT INTO canvas.reports (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      Object.values({ ...row, attachments: row.attachments && json(row.attachments) }),
    )
    return toReport(row)
  }

  /** The final report of a piece of work, if it was given. */
  async final(reader: Reader, nodeId: string, engagement: number): Promise<Report | null> {
    const [row] = await reader.query<ReportRow>(
      `SELECT ${columns} FROM canvas.reports WHERE node_id = $1 AND engagement = $2 AND kind = 'final'`,
      [nodeId, engagement],
    )
    return row ? toReport(row) : null
  }

  async newest(reader: Reader, nodeId: string, engagement: number): Promise<Report | null> {
    const [row] = await reader.query<ReportRow>(
      `SELECT ${columns} FROM canvas.reports WHERE node_id = $1 AND engagement = $2 ORDER BY created_at DESC, id DESC LIMIT 1`,
      [nodeId, engagement],
    )
    return row ? toReport(row) : null
  }

  async page(
    reader: Reader,
    nodeId: string,
    after: { createdAt: Date; id: string } | undefined,
    limit: number,
  ): Promise<Report[]> {
    const rows = await reader.query<ReportRow>(
      `SELECT ${columns} FROM canvas.reports
        WHERE node_id = $1 AND ($2::timestamptz IS NULL OR (created_at, id) > ($2, $3))
        ORDER BY created_at, id LIMIT $4`,
      [nodeId, after?.createdAt ?? null, after?.id ?? null, limit],
    )
    return rows.map(toReport)
  }

  /** Keeps the result; answers false when this piece of work has one. */
  async insertResult(
    tx: Tx,
    result: { nodeId: string; engagement: number; value: unknown; at: Date },
  ): Promise<boolean> {
    const inserted = await tx.count(
      `INSERT INTO canvas.results (node_id, engagement, value, created_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT (node_id, engagement) DO NOTHING`,
      [result.nodeId, result.engagement, JSON.stringify(result.value), result.at],
    )
    return inserted === 1
  }

  async result(reader: Reader, nodeId: string, engagement: number): Promise<{ readonly value: unknown } | null> {
    const [row] = await reader.query<{ value: unknown }>(
      'SELECT value FROM canvas.results WHERE node_id = $1 AND engagement = $2',
      [nodeId, engagement],
    )
    return row ?? null
  }
}
