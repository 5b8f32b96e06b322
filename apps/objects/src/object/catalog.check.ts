import { type DeclaredEvent, objectLimits } from '#common/contract/object.schema.js'
import { type FieldFault, SvcError } from '#common/kernel/errors.js'
import type { SchemaThread } from '#common/kernel/schema/schema.thread.js'

const tooLong = `must be at most ${objectLimits.schemaBytes} bytes of JSON`

const doubled = (catalog: readonly DeclaredEvent[]): FieldFault[] =>
  catalog.flatMap(({ event }, at) => {
    const first = catalog.findIndex((other) => other.event === event)
    return first < at ? [{ pointer: `/catalog/${at}/event`, message: `is the same as that of /catalog/${first}` }] : []
  })

/** That a catalog says one thing of each event, and that its schemas can be used. */
export class CatalogCheck {
  constructor(private readonly schemas: SchemaThread) {}

  /** @throws SvcError validation_failed that points at each fault, rate_limited when too many schemas are being checked */
  async require(catalog: readonly DeclaredEvent[]): Promise<void> {
    const faults = doubled(catalog)
    for (const [at, { payload_schema }] of catalog.entries()) {
      const message = await this.faultOf(payload_schema)
      if (message !== undefined) faults.push({ pointer: `/catalog/${at}/payload_schema`, message })
    }
    if (faults.length > 0) throw new SvcError('validation_failed', undefined, { errors: faults })
  }

  private async faultOf(schema: DeclaredEvent['payload_schema']): Promise<string | undefined> {
    if (Buffer.byteLength(JSON.stringify(schema)) > objectLimits.schemaBytes) return tooLong
    if (Object.keys(schema).length === 0) return undefined
    const answer = await this.schemas.ask(schema)
    if (!answer) return 'took too long, or too much memory, to be read'
    return answer.unusable === undefined ? undefined : `can't be used: ${answer.unusable}`
  }
}
