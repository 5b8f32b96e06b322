import { createHash } from 'node:crypto'
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { isSvcError } from '../errors.js'

/** `server`: asked from elsewhere. `producer`: sends on what was put down before. */
export type SpanRole = 'server' | 'producer'

/** A piece of work in a trace. */
export interface Span {
  /** Where what it leads to belongs; without tracing, where it came from. */
  readonly traceparent: string | undefined
  /** Further facts, known only later. */
  note(attributes: Attributes): void
  /** @param error why it failed, if it did; one of ours by its code */
  end(error?: unknown): void
}

const kinds: Record<SpanRole, SpanKind> = { server: SpanKind.SERVER, producer: SpanKind.PRODUCER }
const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

let tracer: Tracer | undefined

/** From now on spans are made by this tracer; undefined: none are. */
export const traceBy = (given: Tracer | undefined): void => {
  tracer = given
}

/** The trace that a W3C `traceparent` names; null for anything that is none. */
export const traceIdOf = (traceparent: string | null | undefined): string | null =>
  form.exec(traceparent ?? '')?.[1] ?? null

/** A W3C `traceparent` that begins a trace for what has this name: for each who does it again, the same. */
export const traceparentFor = (name: string): string => {
  const digest = createHash('sha256').update(name).digest('hex')
  return `00-${digest.slice(0, 32)}-${digest.slice(32, 48)}-01`
}

const parentContext = (traceparent: string | undefined): Context => {
  const [, traceId, spanId, flags] = form.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT
  const parent: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags as string, 16), isRemote: true }
  return trace.setSpanContext(ROOT_CONTEXT, parent)
}

const unseen = (traceparent: string | undefined): Span => ({ traceparent, note: () => undefined, end: () => undefined })

/**
 * Begins a span below `traceparent`. Costs next to nothing unless traces are sent somewhere, which
 * `OTEL_EXPORTER_OTLP_ENDPOINT` decides.
 */
export const beginSpan = (
  name: string,
  role: SpanRole,
  traceparent: string | undefined,
  attributes: Attributes = {},
): Span => {
  if (!tracer) return unseen(traceparent)
  const span = tracer.startSpan(name, { kind: kinds[role], attributes }, parentContext(traceparent))
  const { traceId, spanId, traceFlags } = span.spanContext()
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    note: (more) => {
      span.setAttributes(more)
    },
    end: (error) => {
      if (error !== undefined) {
        // what has no code of ours is `_OTHER`, as OpenTelemetry's conventions have it
        const [type, message] = isSvcError(error) ? [error.code, error.message] : ['_OTHER', String(error)]
        span.setAttribute('error.type', type)
        span.setStatus({ code: SpanStatusCode.ERROR, message })
      }
      span.end()
    },
  }
}
