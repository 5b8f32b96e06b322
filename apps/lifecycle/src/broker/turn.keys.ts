/**
 * Whether a kept answer belongs to the newest turn of a node: its process, revived however late, repeats what it had asked
 * for in that turn, by keys `<node>.<turn>.<call>` (see keyOf of the broker). A second child must not come of it.
 */
export const isOfOpenTurn = `EXISTS (SELECT 1 FROM canvas.nodes n
  WHERE n.id = substr(kept.principal, 6) AND kept.principal LIKE 'node:%'
    AND starts_with(kept.key, n.id || '.' || n.turn || '.'))`
