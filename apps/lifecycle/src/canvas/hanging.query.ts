/** From when on something must have happened. */
export interface Since {
  readonly stuck: Date
  readonly resting: Date
}

/** How long (ms) an active node may show nothing, and an idle one that owes a report may wait for nothing. */
const stuckAfter = 15 * 60_000
const restingAfter = 2 * 60_000

export const hangingSince = (now: number): Since => ({
  stuck: new Date(now - stuckAfter),
  resting: new Date(now - restingAfter),
})

export const activeAt = `greatest(n.updated_at,
  (SELECT j.created_at FROM canvas.journal j WHERE j.node_id = n.id ORDER BY j.ord DESC LIMIT 1))`

/** Of the node n: it is owed a fresh context, which supervision sees to, or it waits by its own word. */
const isExpected = 'n.waiting_since IS NOT NULL OR n.refresh_asked_at IS NOT NULL'

/**
 * How the node n hangs, if it does. Active: nothing came of it since `stuck`, and no tool of its runs. Idle: it owes a
 * report and waits for nothing: no mail, no job, no person, nobody at work whom it hears; since `resting`.
 */
export const hangs = (stuck: string, resting: string): string => `CASE
  WHEN ${isExpected} THEN NULL
  WHEN n.status = 'active' AND n.updated_at < ${stuck} AND ${activeAt} < ${stuck}
   AND NOT EXISTS (SELECT 1 FROM canvas.tool_calls t WHERE t.node_id = n.id AND t.status = 'started') THEN 'active'
  WHEN n.status = 'idle' AND n.lifecycle = 'terminal' AND n.updated_at < ${resting}
   AND NOT EXISTS (SELECT 1 FROM canvas.mail m WHERE m.node_id = n.id AND m.acknowledged_at IS NULL AND m.tier <> 'deferred')
   AND NOT EXISTS (SELECT 1 FROM canvas.jobs b WHERE b.node_id = n.id AND b.status = 'running')
   AND NOT EXISTS (SELECT 1 FROM canvas.human_requests q WHERE q.node_id = n.id AND q.status = 'pending')
   AND NOT EXISTS (SELECT 1 FROM canvas.subscriptions s JOIN canvas.nodes p ON p.id = s.publisher
                    WHERE s.subscriber = n.id AND s.mode = 'active' AND p.status IN ('active', 'idle')) THEN 'idle'
  END`

/** Entries of the attention that the node n has: its fault, that it hangs, its open questions, its schedules that gave up. */
export const attentionCount = (stuck: string, resting: string): string => `(CASE WHEN ${faulty} THEN 1 ELSE 0 END
  + CASE WHEN (${hangs(stuck, resting)}) IS NULL THEN 0 ELSE 1 END
  + (SELECT count(*) FROM canvas.human_requests q WHERE q.node_id = n.id AND q.status = 'pending')
  + (SELECT count(*) FROM canvas.concerns c WHERE c.node_id = n.id AND c.open AND n.status <> 'canceled'))`

export const faulty = `n.fault IS NOT NULL AND n.status IN ('active', 'idle', 'dead')`
