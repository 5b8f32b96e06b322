import type { Client } from '#sdk/index.js'
import { every } from '../clock.js'
import type { Output } from '../output/output.js'
import { hasEnded } from './ended.js'
import { NodeView } from './node.view.js'
import { WatchStatus } from './watch.status.js'

interface Watched {
  readonly id: string
  /** Event to go on after; `0` is the beginning. */
  readonly after?: string
  readonly tree?: boolean
  readonly json: boolean
}

/** Shows a node at work until it ends, or until Ctrl-C, which leaves the node alone. */
export const watchNode = async (client: Client, out: Output, { id, after, tree, json }: Watched): Promise<void> => {
  const leave = new AbortController()
  const onInterrupt = () => leave.abort()
  process.once('SIGINT', onInterrupt)
  const view = new NodeView(out, id)
  const status = new WatchStatus(out, id)
  const callOff = json ? () => undefined : every(500, () => out.status(status.text))
  try {
    const items = client.nodes.stream(id, tree ? { tree } : {}, {
      signal: leave.signal,
      ...(after !== undefined && { after }),
    })
    for await (const item of items) {
      if (json) out.record(item)
      else {
        status.learn(item)
        view.show(item)
        out.status(status.text)
      }
      if (await hasEnded(client, id, item)) break
    }
  } catch (error) {
    if (!leave.signal.aborted) throw error
    out.status('')
    view.rest()
    out.note(`left alone, it goes on: svc node watch ${id}`)
    process.exit(130)
  } finally {
    callOff()
    out.status('')
    process.off('SIGINT', onInterrupt)
  }
  view.rest()
}
