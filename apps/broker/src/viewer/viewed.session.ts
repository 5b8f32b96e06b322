import { randomUUID } from 'node:crypto'
import type { NodeSession } from '../node/node.session.js'
import type { ViewedSession } from './viewer.desk.js'

/** What a binding shows to those at the socket. */
export const viewedSession = (session: NodeSession): ViewedSession => ({
  node: () => {
    const { node_id, generation, engagement, name, kind, mode, lifecycle, engine, cwd, model, context } =
      session.assignment
    return { id: node_id, generation, engagement, name, kind, mode, lifecycle, engine, cwd, model, context }
  },
  entries: () => ({ first: session.journal.position - session.history.length, entries: session.history }),
  progress: () => session.deltas.progress(),
  act: (ticket, act) =>
    session.daemon.post<object>(
      'broker/viewer',
      { ticket, act },
      { signal: session.ended, idempotencyKey: randomUUID() },
    ),
})
