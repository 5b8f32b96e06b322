import { isMainThread } from 'node:worker_threads'
import { version } from '#sdk/generated/version.js'
import { Ended, hasCode } from './daemon/endings.js'
import { warmUp } from './daemon/http.fetch.js'
import { type Attach, isAttach, isServe, type Serve, sayAttached, sayReleased, shownPlan } from './host-link.js'
import { serveNode } from './node/node.service.js'
import { ToolProcesses } from './process/tool-process.js'
import { answerSearch } from './tools/search.worker.js'
import { ViewerDesk } from './viewer/viewer.desk.js'

/** One node after another, each for as long as the daemon wants it hosted. */
const serveAll = (): void => {
  const mark = process.env.SVC_BROKER_MARK
  if (!process.send || !mark) {
    process.stderr.write('This program is started by the host of an svc daemon, not by hand.\n')
    process.exit(2)
  }
  let tools: ToolProcesses | undefined
  let served: { readonly message: Serve; readonly desk: ViewerDesk } | undefined
  const leave = (code: number): never => {
    served?.desk.close('ended')
    tools?.killAll()
    process.exit(code)
  }
  const serve = async (message: Serve): Promise<void> => {
    const own = new ToolProcesses(mark, message.token, shownPlan(message))
    const desk = new ViewerDesk()
    tools = own
    served = { message, desk }
    try {
      await serveNode(message, own, version, desk)
    } catch (error) {
      if (error instanceof Ended) return leave(0)
      // The node was ended between its launch and now: nothing to do for it, and nothing was done.
      if (!hasCode(error, 'illegal_transition')) throw error
    }
    desk.close('released')
    served = undefined
    await own.endAll()
    sayReleased(message, own.spawned)
  }
  const attach = async (message: Attach): Promise<void> => {
    try {
      const { node_id, generation } = served?.message ?? {}
      if (!served || node_id !== message.node_id || generation !== message.generation) {
        return sayAttached(message, 'it does not host the node')
      }
      await served.desk.open(message.path)
      sayAttached(message)
    } catch (error) {
      sayAttached(message, (error as Error).message)
    }
  }
  const fail = (error: unknown): never => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    return leave(1)
  }
  process.on('message', (message) => {
    if (isServe(message)) serve(message).catch(fail)
    else if (isAttach(message)) void attach(message)
  })
  // The host is gone: nobody would confirm that this process is, so it goes, with all that it started.
  process.on('disconnect', () => leave(0))
  process.on('SIGTERM', () => leave(0))
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)
  warmUp()
}

if (isMainThread) serveAll()
else answerSearch()
