import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { after, monotonic } from '#machine/clock.js'
import { SvcError } from '#sdk/errors.js'
import type { JournalEntryInput, NodesBrokerViewerBody } from '#sdk/generated/types.js'
import { version } from '#sdk/generated/version.js'
import { ViewerConnection } from './viewer.connection.js'
import { controlLease, ViewerControl } from './viewer.control.js'
import { LineFault, type ShownDelta, shownEntry, type ViewerLine } from './viewer.message.js'

export type ViewerAct = NodesBrokerViewerBody['act']

/** What viewers are shown, and whom their controller's words go to. */
export interface ViewedSession {
  /** What the node is now. */
  node(): Readonly<Record<string, unknown>>
  /** Every entry of the present conversation, oldest first, with the position of the first. */
  entries(): { readonly first: number; readonly entries: readonly JournalEntryInput[] }
  /** Text in progress. */
  progress(): readonly ShownDelta[]
  act(ticket: string, act: ViewerAct): Promise<object>
}

const protocol = 'svc-viewer/1'
const mostViewers = 32
/** Lines of one viewer that may wait for the daemon. */
const mostAsked = 8
/** Bytes of entries that a welcome shows at most, the newest. */
const welcomeLimit = 512 * 1024

/**
 * The socket at which people watch one node at its process, and talk to it. It is opened when somebody first asks for it,
 * and nothing said there ever holds up the node.
 */
export class ViewerDesk {
  readonly #viewers = new Set<ViewerConnection>()
  readonly #control = new ViewerControl<ViewerConnection>(monotonic)
  readonly #tickets = new WeakMap<ViewerConnection, string>()
  #session: ViewedSession | undefined
  #server: Server | undefined
  #path: string | undefined
  #callOff: (() => void) | undefined
  #closed = false

  /** Resolves once viewers can connect; a repetition opens nothing more. @throws Error when there is no such place */
  async open(path: string): Promise<void> {
    if (this.#closed) throw new Error('the node has left this process')
    if (this.#path === path) return
    rmSync(path, { force: true })
    const server = createServer((socket) => this.#receive(socket))
    this.#server = server
    this.#path = path
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
    chmodSync(path, 0o600)
    // a socket that fails later has no more viewers, which is no reason for its node to fail
    server.on('error', () => undefined)
  }

  /** The node is worked on by this binding of it now: whoever watches is welcomed anew. */
  show(session: ViewedSession): void {
    this.#session = session
    for (const viewer of this.#viewers) this.#welcome(viewer, session)
  }

  recorded(entries: readonly JournalEntryInput[], first: number): void {
    if (this.#viewers.size === 0) return
    for (const [at, entry] of entries.entries())
      this.#tell({ type: 'entry', ord: first + at, entry: shownEntry(entry) })
  }

  said(delta: ShownDelta): void {
    if (this.#viewers.size > 0) this.#tell({ type: 'delta', ...delta })
  }

  close(reason: string): void {
    this.#closed = true
    this.#callOff?.()
    for (const viewer of this.#viewers) viewer.end(reason)
    this.#viewers.clear()
    this.#server?.close()
    if (this.#path !== undefined) rmSync(this.#path, { force: true })
  }

  #receive(socket: Socket): void {
    const viewer: ViewerConnection = new ViewerConnection(socket, {
      onLine: (line) => this.#hear(viewer, line),
      onClosed: () => this.#leave(viewer),
    })
    if (this.#closed || this.#viewers.size >= mostViewers) {
      viewer.end('too_many')
      return
    }
    this.#viewers.add(viewer)
    if (this.#session) this.#welcome(viewer, this.#session)
  }

  #welcome(viewer: ViewerConnection, session: ViewedSession): void {
    const { first, entries } = session.entries()
    const lines: { ord: number; entry: unknown }[] = []
    let room = welcomeLimit
    for (let at = entries.length - 1; at >= 0; at -= 1) {
      const entry = shownEntry(entries[at] as JournalEntryInput)
      room -= JSON.stringify(entry).length
      if (room < 0) break
      lines.unshift({ ord: first + at, entry })
    }
    viewer.send({
      type: 'welcome',
      protocol,
      version,
      node: session.node(),
      role: this.#control.holder === viewer ? 'controller' : 'observer',
      controlled: this.#control.holder !== undefined,
      lease_ms: controlLease,
      omitted: entries.length - lines.length,
      entries: lines,
      progress: session.progress(),
    })
  }

  #hear(viewer: ViewerConnection, line: ViewerLine): void {
    const held = this.#control.hear(viewer)
    if (held) this.#watchLease()
    switch (line.type) {
      case 'beat':
        break
      case 'release':
        if (this.#control.leave(viewer)) this.#tellControl()
        break
      case 'control':
        if (this.#control.holder !== undefined && !held) {
          throw new LineFault('control_held', 'Somebody else controls the node.')
        }
        this.#ask(viewer, line, line.ticket, { type: 'control' }, () => this.#take(viewer, line.ticket))
        break
      case 'interrupt':
        this.#ask(viewer, line, this.#ticketOf(viewer, held), { type: 'interrupt' })
        break
      case 'message': {
        const { type, body, tier } = line
        this.#ask(viewer, line, this.#ticketOf(viewer, held), { type, body, tier })
        break
      }
    }
  }

  #ticketOf(viewer: ViewerConnection, held: boolean): string {
    const ticket = this.#tickets.get(viewer)
    if (held && ticket !== undefined) return ticket
    throw new LineFault('not_controller', 'Only who controls the node may say this: take control first.')
  }

  #ask(
    viewer: ViewerConnection,
    { ref, type }: ViewerLine,
    ticket: string,
    act: ViewerAct,
    granted?: () => void,
  ): void {
    const session = this.#session
    if (!session || viewer.asked >= mostAsked)
      throw new LineFault('too_many', 'Wait for the answers of what was said before.')
    viewer.asked += 1
    session
      .act(ticket, act)
      .then((answer) => {
        granted?.()
        viewer.send({ type: 'accepted', to: type, ...answer, ...(ref !== undefined && { ref }) })
      })
      .catch((error: unknown) => {
        const known = error instanceof SvcError || error instanceof LineFault
        const { code, message } = known ? error : { code: 'failed', message: String(error) }
        viewer.fault({ code, message }, ref)
      })
      .finally(() => {
        viewer.asked -= 1
      })
  }

  #take(viewer: ViewerConnection, ticket: string): void {
    if (!this.#viewers.has(viewer)) return
    if (!this.#control.take(viewer)) throw new LineFault('control_held', 'Somebody else was quicker.')
    this.#tickets.set(viewer, ticket)
    this.#tellControl()
    this.#watchLease()
  }

  /** Everybody is told when who controls has fallen silent. */
  #watchLease(): void {
    this.#callOff?.()
    this.#callOff = after(controlLease + 1, () => this.#tellControl())
  }

  #leave(viewer: ViewerConnection): void {
    this.#viewers.delete(viewer)
    if (this.#control.leave(viewer)) this.#tellControl()
  }

  #tellControl(): void {
    const { holder } = this.#control
    for (const viewer of this.#viewers) {
      viewer.send({ type: 'controlled', by_you: viewer === holder, controlled: holder !== undefined })
    }
  }

  #tell(message: Readonly<Record<string, unknown>>): void {
    const line = `${JSON.stringify(message)}\n`
    for (const viewer of this.#viewers) viewer.write(line)
  }
}
