import type { CronRecord } from '../cron/cron.record.js'

/** Of a root that gave its place to another. */
export interface Succession {
  readonly from: string
  readonly to: string
}

/** Whether a schedule belongs to the root or is aimed at it: such a one would go with it, were it canceled. */
export const isOf = (nodeId: string, { owner_node_id, target_node_id }: CronRecord): boolean =>
  owner_node_id === nodeId || target_node_id === nodeId

const actionOf = ({ action }: CronRecord, { from, to }: Succession): CronRecord['action'] => {
  if (action.type === 'message' && action.node_id === from) return { ...action, node_id: to }
  if (action.type === 'create_node' && action.parent_id === from) return { ...action, parent_id: to }
  return action
}

/** @param begun something of it is under way, which whoever does it knows by the principal that began it: that name stays */
const authorityOf = ({ authority }: CronRecord, { to }: Succession, begun: boolean): CronRecord['authority'] => {
  const named = authority.kind === 'node' && !begun ? { principal: `node:${to}` } : {}
  return { ...authority, ...named, node_id: to }
}

/** What changes of a schedule that names the old root: the new one stands wherever that stood. */
export const changesOf = (cron: CronRecord, succession: Succession, begun: boolean): Partial<CronRecord> => {
  const { from, to } = succession
  return {
    owner_path: cron.owner_path.map((id) => (id === from ? to : id)),
    action: actionOf(cron, succession),
    ...(cron.target_node_id === from && { target_node_id: to }),
    ...(cron.owner_node_id === from && { owner_node_id: to, authority: authorityOf(cron, succession, begun) }),
  }
}
