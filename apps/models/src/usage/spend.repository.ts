import type { LlmAnswer } from '#common/contract/index.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

const TODAY = "(now() AT TIME ZONE 'UTC')::date"

/** What was spent on models, by day (of UTC), principal and model. */
export class SpendRepository {
  add(tx: Tx, principal: string, { model, usage }: Pick<LlmAnswer, 'model' | 'usage'>): void {
    tx.send(
      `INSERT INTO models.spend AS old (day, principal, model, calls, input_tokens, output_tokens, cached_tokens, cost_usd)
       VALUES (${TODAY}, $1, $2, 1, $3, $4, $5, $6)
       ON CONFLICT (day, principal, model) DO UPDATE SET calls = old.calls + 1,
         input_tokens = old.input_tokens + excluded.input_tokens, output_tokens = old.output_tokens + excluded.output_tokens,
         cached_tokens = old.cached_tokens + excluded.cached_tokens, cost_usd = old.cost_usd + excluded.cost_usd`,
      [principal, model, usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost_usd],
    )
  }

  /** US dollars of everybody since midnight UTC. */
  async costToday(reader: Reader): Promise<number> {
    const [row] = await reader.query<{ cost: number }>(
      `SELECT coalesce(sum(cost_usd), 0) AS cost FROM models.spend WHERE day = ${TODAY}`,
    )
    return row?.cost ?? 0
  }
}
