import { version } from '../version.js'
import { traceBy } from './span.js'

/** ms that spans wait for others to leave together. */
const gather = 1000

/**
 * Sends spans by OTLP over HTTP, when the standard variables of OpenTelemetry say where to: `OTEL_EXPORTER_OTLP_ENDPOINT`
 * or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, unless `OTEL_SDK_DISABLED` is `true`. The exporter reads its own (headers,
 * timeouts), as does the resource (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`). Nothing is loaded otherwise. Whoever
 * doesn't take them costs nothing but the spans.
 *
 * @param service what the process is called in traces, unless `OTEL_SERVICE_NAME` says it
 * @returns sends what is left and ends it
 */
export const openTracing = async (service: string, env: NodeJS.ProcessEnv): Promise<() => Promise<void>> => {
  const wanted = env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
  if (!wanted || env.OTEL_SDK_DISABLED === 'true') return async () => undefined
  const [sdk, resources, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ])
  const named = resources.resourceFromAttributes({ 'service.name': service, 'service.version': version })
  const said = resources.detectResources({
    detectors: [
      resources.resourceAttributesEnvDetector,
      ...(env.OTEL_SERVICE_NAME ? [resources.serviceNameEnvDetector] : []),
    ],
  })
  const provider = new sdk.TracerProvider({
    resource: named.merge(said),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.AlwaysOnSampler() }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter(), scheduledDelayMillis: gather })],
  })
  traceBy(provider.getTracer('svc', version))
  return async () => {
    traceBy(undefined)
    await provider.shutdown()
  }
}
