import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { attributeOf, OtlpReceiver } from '../../../../../test/support/otlp-receiver.js'
import { SvcError } from '../errors.js'
import { beginSpan, traceIdOf, traceparentFor } from './span.js'
import { openTracing } from './tracing.js'

const trace = 'a'.repeat(32)
const caller = `00-${trace}-${'b'.repeat(16)}-01`
const endpoint = 'OTEL_EXPORTER_OTLP_ENDPOINT'

let collector: OtlpReceiver
beforeEach(async () => {
  collector = await OtlpReceiver.start()
  // where the exporter looks for it
  process.env[endpoint] = collector.url
})
afterEach(async () => {
  delete process.env[endpoint]
  await collector.stop()
})

describe('tracing', () => {
  it('sends each step below the one that led to it, with why it failed', async () => {
    const close = await openTracing('svc-test', process.env)
    const outer = beginSpan('POST /v1/things', 'server', caller, { 'svc.request_id': 'req' })
    const inner = beginSpan('things.make', 'producer', outer.traceparent)
    inner.note({ 'svc.thing': 'thing_1' })
    inner.end(new SvcError('not_found', 'There is no thing.'))
    outer.end()
    await close()

    expect(traceIdOf(inner.traceparent)).toBe(trace)
    const [first, second] = ['things.make', 'POST /v1/things'].map((name) =>
      collector.spans.find((span) => span.name === name),
    )
    expect(second).toMatchObject({ traceId: trace, parentSpanId: 'b'.repeat(16) })
    expect(first).toMatchObject({
      traceId: trace,
      parentSpanId: second?.spanId,
      status: { message: 'There is no thing.' },
    })
    expect(first && attributeOf(first, 'error.type')).toBe('not_found')
    expect(first && attributeOf(first, 'svc.thing')).toBe('thing_1')
    expect([...collector.services]).toEqual(['svc-test'])
  })

  it('is bound by the decision of its caller not to record', async () => {
    const close = await openTracing('svc-test', process.env)
    const span = beginSpan('quiet', 'server', caller.replace(/01$/, '00'))
    span.end()
    await close()
    expect(traceIdOf(span.traceparent)).toBe(trace)
    expect(collector.spans).toEqual([])
  })

  it('is off unless it is told where to, and hands on what it was given', async () => {
    const close = await openTracing('svc-test', { ...process.env, OTEL_SDK_DISABLED: 'true' })
    const span = beginSpan('nothing', 'server', caller)
    expect(span.traceparent).toBe(caller)
    span.end(new Error('no matter'))
    await close()
    expect(collector.spans).toEqual([])
  })

  it('begins one trace for one name, and another one for another', () => {
    const [one, other] = [traceparentFor('cron:a:1'), traceparentFor('cron:a:2')]
    expect(traceIdOf(one)).toMatch(/^[0-9a-f]{32}$/)
    expect(traceparentFor('cron:a:1')).toBe(one)
    expect(traceIdOf(other)).not.toBe(traceIdOf(one))
  })

  it.each(['', 'rubbish', `01-${trace}-${'b'.repeat(16)}-01`, null, undefined])('%j names no trace', (text) => {
    expect(traceIdOf(text)).toBeNull()
  })
})
