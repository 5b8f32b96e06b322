import type { HumanPage, HumanRequest, HumanRequestStatus, HumanResponseItem } from '#common/contract/human.schema.js'

/** A row of canvas.human_requests. */
export interface HumanRequestRecord {
  readonly id: string
  readonly node_id: string | null
  readonly app_id: string | null
  readonly kind: 'deck'
  readonly title: string
  readonly subtitle: string | null
  readonly pages: HumanPage[]
  readonly status: HumanRequestStatus
  readonly deadline: Date | null
  readonly default_response: HumanResponseItem[] | null
  readonly waiting_cost: string | null
  readonly dedupe_key: string | null
  readonly response: HumanResponseItem[] | null
  readonly reason: string | null
  readonly asked_by: HumanRequest['asked_by']
  /** Whose authority asked; with the dedupe key it says which request is the same one. */
  readonly principal: string
  readonly resolved_by: HumanRequest['resolved_by']
  readonly resolved_at: Date | null
  readonly version: number
  readonly created_at: Date
  readonly updated_at: Date
}

/** The request as the contract shows it. */
export const toHumanRequest = (row: HumanRequestRecord): HumanRequest => ({
  id: row.id,
  kind: row.kind,
  title: row.title,
  subtitle: row.subtitle,
  pages: row.pages,
  status: row.status,
  node_id: row.node_id,
  app_id: row.app_id,
  asked_by: row.asked_by,
  deadline: row.deadline?.toISOString() ?? null,
  default: row.default_response,
  waiting_cost: row.waiting_cost,
  dedupe_key: row.dedupe_key,
  response: row.response,
  reason: row.reason,
  resolved_by: row.resolved_by,
  resolved_at: row.resolved_at?.toISOString() ?? null,
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
