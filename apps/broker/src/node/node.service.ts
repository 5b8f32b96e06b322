import { JournalMoved } from '../daemon/endings.js'
import { ExecEngine } from '../exec/exec.engine.js'
import type { Serve } from '../host-link.js'
import { LoopEngine } from '../loop/loop.engine.js'
import type { ToolProcesses } from '../process/tool-process.js'
import { viewedSession } from '../viewer/viewed.session.js'
import type { ViewerDesk } from '../viewer/viewer.desk.js'
import type { NodeEngine } from './node.engine.js'
import { NodeSession } from './node.session.js'
import { lastTurnFailed, nextTurnOf, openTurnOf } from './turn.state.js'

/**
 * Hosts one node until the daemon says that it needs no process any more.
 *
 * @throws Ended when this process must leave the node at once; its tools are the caller's to end.
 */
export const serveNode = async (
  serve: Serve,
  processes: ToolProcesses,
  version: string,
  viewers: ViewerDesk,
): Promise<void> => {
  for (;;) {
    const session = await NodeSession.bind(serve, processes, version)
    session.viewers = viewers
    session.deltas.heard = (delta) => viewers.said(delta)
    viewers.show(viewedSession(session))
    try {
      return await work(session)
    } catch (error) {
      const reason: unknown = session.ended.aborted ? session.ended.reason : error
      if (!(reason instanceof JournalMoved)) throw reason
      // The journal is the truth: read it again and go on from there.
      await processes.endAll()
    } finally {
      session.close()
    }
  }
}

const work = async (session: NodeSession): Promise<void> => {
  const engine: NodeEngine = session.assignment.engine === 'exec' ? new ExecEngine(session) : new LoopEngine(session)
  const open = openTurnOf(session.history)
  if (open) {
    session.beginTurn(open.turn)
    if ((await engine.resume(open)) === 'stop') return
  }
  for (let worked = open !== undefined; ; ) {
    const turn = nextTurnOf(session.history, session.assignment.turn)
    session.restTurn()
    const mail = await (worked ? session.mailbox.takeDigest(session.ended) : session.mailbox.take(session.ended))
    worked = false
    const failed = lastTurnFailed(session.history)
    if (!mail.length && !(failed && engine.retry)) {
      await session.mailAnnounced()
      continue
    }
    session.beginTurn(turn, mail[0]?.traceparent)
    const next = mail.length ? await engine.run(turn, mail) : await engine.retry?.(turn)
    if (next === 'stop') return
    worked = true
  }
}
