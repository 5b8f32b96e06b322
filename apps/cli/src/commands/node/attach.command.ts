import type { Command } from 'commander'
import { ViewerItems, type ViewerLine } from '../../attach/viewer.items.js'
import { ViewerSocket } from '../../attach/viewer.socket.js'
import { command, performs } from '../../invocation.js'
import { NodeView } from '../../node/node.view.js'
import { WatchStatus } from '../../node/watch.status.js'
import { watchNode } from '../../node/watch.view.js'
import type { Output } from '../../output/output.js'
import type { Shell } from '../../shell.js'

interface Attached {
  readonly path: string
  readonly host_id: string
  readonly ticket: string
}

export const registerAttach = (node: Command, shell: Shell): void => {
  const made = command(node, 'attach <id>', {
    calls: ['nodes.attach'],
    mayCall: ['nodes.stream', 'nodes.retrieve'],
    summary: 'Sit down at the process of a node: watch it, and type to it',
    about:
      'For the owner, on the machine of the node; from elsewhere it is watched over the network. A line that is typed is a message and steers the running turn; /interrupt aborts that, /release lets somebody else type. Ctrl-C leaves the node alone.',
    examples: [['svc node attach <id>', 'what it did in this conversation, and what it does']],
  }).option('--observe', 'only watch')
  performs<{ observe?: boolean }>(made, shell, async ({ client, out, json, options }, id = '') => {
    const svc = await client()
    const { path, host_id, ticket } = await svc.request<Attached>('POST', `/v1/nodes/${encodeURIComponent(id)}/attach`)
    const desk = new Desk(out, id, json)
    const socket = await ViewerSocket.open(path, ticket, (line) => desk.hear(line))
    if (!socket) {
      out.note(`the process of the node is out of reach from here (host ${host_id}): it is watched over the network`)
      await watchNode(svc, out, { id, json })
      return
    }
    const onInterrupt = () => {
      desk.rest()
      out.note(`left alone, it goes on: svc node attach ${id}`)
      process.exit(130)
    }
    process.once('SIGINT', onInterrupt)
    if (!options.observe && process.stdin.isTTY) await typing(socket, onInterrupt)
    await socket.closed
    process.off('SIGINT', onInterrupt)
    desk.rest()
    if (!json) out.note(desk.farewell)
    process.exit(0)
  })
}

/** What is typed goes to the node. */
const typing = async (socket: ViewerSocket, onInterrupt: () => void): Promise<void> => {
  const { createInterface } = await import('node:readline')
  const lines = createInterface({ input: process.stdin })
  lines.on('SIGINT', onInterrupt)
  lines.on('line', (line) => {
    const text = line.trim()
    if (text === '/interrupt') socket.ask({ type: 'interrupt' })
    else if (text === '/release') socket.ask({ type: 'release' })
    else if (text !== '') socket.ask({ type: 'message', body: line, tier: 'urgent' })
  })
}

/** Shows what the socket says. */
class Desk {
  readonly #items = new ViewerItems()
  readonly #view: NodeView
  readonly #status: WatchStatus
  #reason = 'gone'

  constructor(
    private readonly out: Output,
    id: string,
    private readonly json: boolean,
  ) {
    this.#view = new NodeView(out, id)
    this.#status = new WatchStatus(out, id)
  }

  get farewell(): string {
    return this.#reason === 'released'
      ? 'the node rests: its process went on to other work'
      : `the process of the node said goodbye: ${this.#reason}`
  }

  hear(line: ViewerLine): void {
    if (this.json) {
      this.out.record(line)
      return
    }
    for (const item of this.#items.of(line)) {
      this.#status.learn(item)
      this.#view.show(item)
    }
    this.#remark(line)
    this.out.status(this.#status.text)
  }

  rest(): void {
    this.out.status('')
    this.#view.rest()
  }

  #remark(line: ViewerLine): void {
    const { out } = this
    const say = (text: string): void => {
      this.rest()
      out.note(out.paintNote('dim', text))
    }
    if (line.type === 'bye') this.#reason = String(line.reason)
    else if (line.type === 'error') say(`${line.message} (${line.code})`)
    else if (line.type === 'welcome' && Number(line.omitted) > 0) say(`${line.omitted} earlier entries are not shown`)
    else if (line.type === 'controlled') {
      say(
        line.by_you
          ? 'you control the node'
          : line.controlled
            ? 'somebody else controls the node'
            : 'nobody controls the node',
      )
    }
  }
}
