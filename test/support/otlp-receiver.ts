import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string }
}

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly status: { readonly code?: number; readonly message?: string }
  readonly attributes: readonly Attribute[]
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly ReceivedSpan[] }[]
  }[]
}

/** Takes spans as a collector of OpenTelemetry does: OTLP over HTTP, as JSON. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = []
  readonly services = new Set<string>()

  private constructor(private readonly server: Server) {}

  static async start(): Promise<OtlpReceiver> {
    const server = createServer()
    const receiver = new OtlpReceiver(server)
    server.on('request', (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        receiver.#take(JSON.parse(Buffer.concat(chunks).toString()) as Export)
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** What was done in one trace, as far as it has come. */
  namesOf(traceId: string): string[] {
    return this.spans.filter((span) => span.traceId === traceId).map(({ name }) => name)
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  #take({ resourceSpans }: Export): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      for (const { key, value } of resource.attributes)
        if (key === 'service.name' && value.stringValue) this.services.add(value.stringValue)
      for (const { spans } of scopeSpans) this.spans.push(...spans)
    }
  }
}

export const attributeOf = ({ attributes }: ReceivedSpan, name: string): string | undefined =>
  attributes.find(({ key }) => key === name)?.value.stringValue
