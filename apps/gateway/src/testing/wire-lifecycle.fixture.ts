import type { Operation } from '#common/contract/define.js'
import { contract } from '#common/contract/index.js'
import type { JobChunk } from '#common/contract/job.schema.js'
import type { Delta, Node, NodeEvent } from '#common/contract/node.schema.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { BusServer } from '#common/kernel/bus/bus.server.js'
import { BusConnection } from '#common/kernel/bus/connection.js'
import { Inbox } from '#common/kernel/bus/inbox.js'
import { systemClock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { createLogger } from '#common/kernel/log.js'
import { subjects } from '#common/kernel/subjects.js'

type Logged = NodeEvent & { root_id: string; tree_seq: number }
type Handler = (ctx: Context, input: never) => unknown

interface Kept {
  node: Node
  generation: number
  ended: boolean
  scopes: string[]
  place?: { cwd?: string; host_id?: string }
  parts: { generation: number; message: number; channel: string; text: string; truncated: boolean }[]
}

const time = '2026-01-01T00:00:00.000Z'

const log = createLogger('wire', 'silent')

/** The other side of the wire: answers what the gateway asks of lifecycle and models, from plain maps. */
export class WireLifecycle {
  readonly asked: { name: string; ctx: Context; input: unknown }[] = []
  readonly nodes = new Map<string, Kept>()
  readonly log: Logged[] = []
  /** Newest events that an older transaction holds up. */
  held = 0
  /** Answers put in place of the usual ones, by operation. */
  readonly answers: Record<string, Handler> = {}
  #bus!: Bus
  #server!: BusServer
  #connection!: BusConnection

  static async start(url: string): Promise<WireLifecycle> {
    const wire = new WireLifecycle()
    await wire.resume(url)
    return wire
  }

  /** Comes back after `stop`, with what it knew. */
  async resume(url: string): Promise<void> {
    this.#connection = await BusConnection.open({ url, name: 'wire', clock: systemClock, log })
    const connection = this.#connection
    const inbox = await Inbox.open(connection, subjects.inbox('lifecycle'))
    this.#bus = new Bus({ connection, inbox, clock: systemClock, log })
    const served = Object.keys(this.#handlers()).map(
      (name) => (contract as unknown as Record<string, Operation>)[name]!,
    )
    const servers = (['lifecycle', 'models'] as const).map((service) => {
      const operations = served.filter((entry) => entry.service === service)
      const server = new BusServer({ service, operations, connection, inbox, clock: systemClock, log })
      server.handle(operations.flatMap((operation) => this.#found(operation)))
      return server
    })
    for (const server of servers) await server.listen()
    this.#server = servers[0]!
  }

  async stop(): Promise<void> {
    await this.#server.pause()
    await this.#connection.drain()
  }

  create(parent?: string, scopes = ['svc:llm', 'svc:act']): string {
    const id = newId('node')
    const root = parent ? this.nodes.get(parent)!.node.root_id : id
    const node = { id, root_id: root, parent_id: parent ?? null, name: 'n', status: 'active', generation: 1 } as Node
    this.nodes.set(id, { node, generation: 1, ended: false, scopes, parts: [] })
    this.record(id, 'node.created', { parent_id: parent ?? null })
    return id
  }

  /** Commits an event; `tail: false` drops its message on the way. */
  record(id: string, type: string, data: Record<string, unknown> = {}, tail = true): Logged {
    const { node } = this.nodes.get(id)!
    const count = (of: (event: Logged) => boolean): number => this.log.filter(of).length + 1
    const event: Logged = {
      id: newId('evt'),
      seq: count((one) => one.subject === id),
      type,
      time,
      subject: id,
      actor: { kind: 'owner', id: null },
      correlation_id: null,
      causation_id: null,
      data,
      root_id: node.root_id,
      tree_seq: count((one) => one.root_id === node.root_id),
    }
    this.log.push(event)
    if (tail) this.announce(event)
    return event
  }

  announce(event: Logged): void {
    this.#bus.publish(subjects.nodeEvent(event.subject, event.type), event)
  }

  delta(id: string, delta: Partial<Delta> & { offset: number; text: string }, tail = true): void {
    const kept = this.nodes.get(id)!
    const whole: Delta = { generation: 1, message: 1, channel: 'text', ...delta }
    const part = kept.parts.find((one) => one.message === whole.message)
    if (part) part.text = part.text.slice(0, whole.offset) + whole.text
    else kept.parts.push({ generation: 1, message: whole.message, channel: 'text', text: whole.text, truncated: false })
    if (tail) this.#bus.publish(subjects.nodeLive(id), { node_id: id, root_id: kept.node.root_id, deltas: [whole] })
  }

  /** Output of a background job, as it comes. */
  jobOutput(id: string, ...jobs: JobChunk[]): void {
    const { root_id } = this.nodes.get(id)!.node
    this.#bus.publish(subjects.nodeLive(id), { node_id: id, root_id, deltas: [], jobs })
  }

  asks(name: string): { ctx: Context; input: unknown }[] {
    return this.asked.filter((one) => one.name === name)
  }

  #kept(id: string): Kept {
    const kept = this.nodes.get(id)
    if (!kept) throw new SvcError('not_found')
    return kept
  }

  #handlers(): Record<string, Handler> {
    return {
      'nodes.create': (_ctx, input: object) => ({ id: newId('node'), ...input }),
      'nodes.retrieve': (_ctx, { id }: { id: string }) => this.#kept(id).node,
      'nodes.list': (_ctx, { under }: { under: string }) => ({
        data: [...this.nodes.values()]
          .map(({ node }) => node)
          .filter((node) => node.id === under || node.parent_id === under),
        next_cursor: null,
        has_more: false,
      }),
      'focuses.list': () => ({ data: [], next_cursor: null, has_more: false }),
      'focuses.set': (_ctx, input: object) => input,
      'nodes.interrupt': () => ({ interrupted: true }),
      'nodes.outcome': (ctx) =>
        new Promise((_, reject) =>
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason), { once: true }),
        ),
      'nodes.mail.claim': () => ({ mail: [], lease_expires_at: time }),
      'nodes.reports.push': (_ctx, input: object) => input,
      'nodes.broker.signals': async function* (ctx) {
        yield { type: 'mail', urgent: false, critical: false }
        await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve(), { once: true }))
      },
      'llm.call': async function* () {
        yield { type: 'text', text: 'Hel' }
        yield { type: 'answer', answer: { content: [], finish_reason: 'stop' }, replayed: false }
      },
      'lifecycle.node.principal': (_ctx, { node_id: id }: { node_id: string }) => {
        const { node, generation, ended, scopes, place } = this.#kept(id)
        return {
          node_id: id,
          generation,
          ended,
          scopes,
          root_id: node.root_id,
          principal: 'owner',
          app_id: null,
          profile: null,
          place: { cwd: '/tmp', host_id: null, git_dir: null, ...place },
        }
      },
      'lifecycle.node.readEvents': (
        _ctx,
        { id, tree, after, limit }: { id: string; tree: boolean; after: number; limit: number },
      ) => {
        const { status } = this.#kept(id).node
        const settled = ['done', 'dead', 'canceled'].includes(status)
        const all = this.log.filter((event) => (tree ? event.root_id : event.subject) === id)
        const seq = (event: Logged): number => (tree ? event.tree_seq : event.seq)
        if (after > all.length) throw new SvcError('cursor_expired', undefined, { oldest: all.length + 1 })
        return { events: all.filter((event) => seq(event) > after).slice(0, limit), head: all.length, settled }
      },
      'lifecycle.canvas.readEvents': (
        _ctx,
        { after, from, limit, types }: { after?: string; from: 'oldest' | 'now'; limit: number; types?: string[] },
      ) => {
        const ready = this.log.slice(0, this.log.length - this.held)
        const start = after === undefined ? (from === 'now' ? ready.length : 0) : Number(after)
        const looked = ready.slice(start, start + limit)
        const events = looked.map((event, at) => ({ ...event, position: String(start + at + 1) }))
        return {
          events: events.filter(({ type }) => !types || types.includes(type)),
          position: String(start + looked.length),
          more: start + looked.length < ready.length,
          pending: this.held > 0,
        }
      },
      'lifecycle.ledger.read': () => ({ entries: [] }),
      'lifecycle.node.inProgress': (_ctx, { id }: { id: string }) => ({ parts: this.#kept(id).parts }),
      'lifecycle.grant.changed': (_ctx, { grants }: { grants: unknown[] }) => ({ noted: grants.length }),
      'lifecycle.status': () => ({ version: '0.0.0', epoch: 1, nodes: { active: 1 }, hosts: [], limits: {} }),
    }
  }

  #found(operation: Operation) {
    const usual = this.#handlers()[operation.name]!
    const method = (ctx: Context, input: unknown): unknown => {
      this.asked.push({ name: operation.name, ctx, input })
      return (this.answers[operation.name] ?? usual)(ctx, input as never)
    }
    const call = {
      operation,
      role: 'call' as const,
      where: operation.name,
      method: async (ctx: Context, input: unknown) => method(ctx, input),
    }
    const stream = { operation, role: 'stream' as const, where: operation.name, method }
    if (operation.answer === 'negotiated') return [call, stream]
    return operation.answer === 'stream' ? [stream] : [call]
  }
}
