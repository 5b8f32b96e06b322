-- canvas: worktrees that are on their way, which are looked for at every look at the nodes
CREATE INDEX nodes_worktree_moving_idx ON canvas.nodes (id)
  WHERE worktree ->> 'state' IN ('creating', 'closing', 'abandoning');

SELECT canvas.fence_tables();
