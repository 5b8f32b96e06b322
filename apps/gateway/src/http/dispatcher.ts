import { Inject, Injectable } from '@nestjs/common'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { answerOf, type InputOf, type Operation } from '#common/contract/define.js'
import { contract, routes } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import type { Actor, Context } from '#common/kernel/context.js'
import { beginSpan } from '#common/kernel/trace/span.js'
import { Readmission } from '../auth/readmission.js'
import { CanvasWatch } from '../stream/canvas.watch.js'
import { NodeWatch } from '../stream/node.watch.js'
import { Passage } from '../stream/passage.js'
import { readBody } from './body.reader.js'
import { type Content, writeBytes } from './bytes.reply.js'
import { HostRoute } from './host.route.js'
import { parseInput } from './input.parser.js'
import { LocalHandlers } from './local.handlers.js'
import { contextFor } from './request.context.js'
import { type RequestState, stateOf } from './request.state.js'

/** One parsed request. */
interface Exchange {
  readonly ctx: Context
  readonly input: unknown
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly state: RequestState
}

/** Answers a request of one operation: with a value, or by writing to the reply itself. */
type Responder = (exchange: Exchange) => Promise<unknown>

const nobody: Actor = { kind: 'pub', principal: 'nobody', tokenId: null, scopes: [] }

/** Marks that the reply is written already. */
const written = Symbol('written')

const bytesOf =
  (call: Responder): Responder =>
  async (exchange) => {
    const output = await call(exchange)
    if (wantsJson(exchange.request)) return output
    writeBytes(exchange.reply, output as Content)
    return written
  }

const wantsJson = ({ headers }: FastifyRequest): boolean => /\bapplication\/json\b/i.test(headers.accept ?? '')

/** Whether the client asks for a stream where both are on offer. */
const wantsStream = ({ headers }: FastifyRequest): boolean => /\btext\/event-stream\b/i.test(headers.accept ?? '')

const namesCreated = (entry: Operation): boolean =>
  entry.status === 201 &&
  routes.some(({ method, path }) => method === 'GET' && path?.replace(/\{\w+\}$/, '') === `${entry.path}/`)

/** Whether the answer waits for something to happen, and not only for its work to be done. */
const isHeld = ({ name }: Operation, input: Record<string, unknown>, { actor }: RequestState): boolean =>
  name === 'nodes.wait' ? actor?.nodeId !== input.id : input.wait !== undefined && input.wait !== 0

/** Whether what is asked for goes on until its end, with what its caller may do: a command, a model call. */
const isLong = ({ name, service }: Operation): boolean => service === 'host' || name === 'llm.call'

/** How long a token that was looked at is believed (ms), while a client sends its body. */
const believedFor = 500

/** The answer to one request, as the first step of the daemon's in its trace. */
const traced = async (entry: Operation, ctx: Context, work: (ctx: Context) => Promise<unknown>): Promise<unknown> => {
  const { actor, requestId, traceparent } = ctx
  const span = beginSpan(`${entry.method} ${entry.path}`, 'server', traceparent, {
    'svc.service': 'gateway',
    'svc.request_id': requestId,
    'svc.principal': actor.principal,
    'http.request.method': entry.method as string,
    'http.route': entry.path as string,
  })
  try {
    const output = await work(span.traceparent === undefined ? ctx : { ...ctx, traceparent: span.traceparent })
    span.end()
    return output
  } catch (error) {
    span.end(error)
    throw error
  }
}

/** From a request whose gate is open to its answer: parse, one call, reply. */
@Injectable()
export class Dispatcher {
  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(LocalHandlers) private readonly local: LocalHandlers,
    @Inject(NodeWatch) private readonly watch: NodeWatch,
    @Inject(CanvasWatch) private readonly canvas: CanvasWatch,
    @Inject(Passage) private readonly passage: Passage,
    @Inject(HostRoute) private readonly hosts: HostRoute,
    @Inject(Readmission) private readonly readmission: Readmission,
  ) {}

  /**
   * How this entry is served.
   *
   * @throws Error for an entry of the gateway's own that nothing here answers.
   */
  bind(entry: Operation): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
    const respond = this.#responderOf(entry)
    const located = namesCreated(entry)
    return async (request, reply) => {
      const state = stateOf(request)
      const began = this.clock.monotonic()
      const body = await readBody(request.raw, entry, this.settings.SVC_BODY_LIMIT)
      if (this.clock.monotonic() - began > believedFor) await this.readmission.renew(state)
      const input = parseInput(entry, request, body)
      state.held = isHeld(entry, input, state)
      state.lasts = state.held || isLong(entry)
      const ctx = contextFor(entry, {
        headers: request.headers,
        requestId: request.id,
        actor: state.actor ?? nobody,
        signal: state.gone.signal,
        now: this.clock.now(),
      })
      const output = await traced(entry, ctx, (within) => respond({ ctx: within, input, request, reply, state }))
      if (output === written) return
      if (ctx.notes?.replayed) reply.header('idempotency-replayed', 'true')
      if (entry.status === 204 || output === undefined) reply.code(204).send()
      else {
        if (located) reply.header('location', `${entry.path}/${(output as { id: string }).id}`)
        reply
          .code(entry.status ?? 200)
          .header('content-type', 'application/json')
          .send(JSON.stringify(output))
      }
    }
  }

  #responderOf(entry: Operation): Responder {
    const call: Responder =
      entry.service === 'host'
        ? ({ ctx, input }) => this.hosts.call(entry, ctx, input)
        : ({ ctx, input }) => this.bus.call(entry, ctx, input)
    if (entry.service === 'gateway') {
      const handle = this.local.of(entry.name)
      return async ({ ctx, input, state }) => handle(ctx, input, state)
    }
    const stream = this.#streamOf(entry)
    switch (answerOf(entry)) {
      case 'json':
        return call
      case 'bytes':
        return bytesOf(call)
      case 'stream':
        return stream
      case 'negotiated': {
        const whole = this.#wholeOf(entry)
        return (exchange) => (wantsStream(exchange.request) ? stream : whole)(exchange)
      }
    }
  }

  #streamOf(entry: Operation): Responder {
    const write = (exchange: Exchange): Promise<void> => {
      const { ctx, input, reply } = exchange
      if (entry.name === 'nodes.events')
        return this.watch.events(ctx, input as InputOf<(typeof contract)['nodes.events']>, reply)
      if (entry.name === 'nodes.stream')
        return this.watch.stream(ctx, input as InputOf<(typeof contract)['nodes.stream']>, reply)
      if (entry.name === 'canvas.events')
        return this.canvas.events(ctx, input as InputOf<(typeof contract)['canvas.events']>, reply)
      return this.passage.stream(entry, ctx, input, reply)
    }
    return async (exchange) => {
      await write(exchange)
      return written
    }
  }

  /** The JSON half of a negotiated answer. */
  #wholeOf(entry: Operation): Responder {
    if (entry.name === 'nodes.events')
      return ({ ctx, input }) => this.watch.page(ctx, input as InputOf<(typeof contract)['nodes.events']>)
    if (entry.name === 'canvas.events')
      return ({ ctx, input }) => this.canvas.page(ctx, input as InputOf<(typeof contract)['canvas.events']>)
    return ({ ctx, input }) => this.passage.answer(entry, ctx, input)
  }
}
