import type { Database } from '#common/kernel/database/database.js'
import type { SchemaThread } from '#common/kernel/schema/schema.thread.js'
import type { ObjectRecord } from '../object/object.record.js'
import type { ObjectRepository } from '../object/object.repository.js'
import type { Running } from '../objects.lifetime.js'
import type { AcceptanceRepository } from './acceptance.repository.js'
import { PayloadCheck } from './payload.check.js'

/** Characters of schemas that are kept with what was compiled from them, and what an object counts besides. */
const keptSchemas = 16 * 1024 * 1024
const objectSize = 1000

/** What publishing needs to know of an object. */
export interface KnownObject {
  readonly id: string
  readonly name: string
  readonly app_id: string | null
  /** The state of the object that this is; publications are accepted for no other. */
  readonly version: number
  /** In the order of the catalog. */
  readonly checks: ReadonlyMap<string, PayloadCheck>
  readonly size: number
}

/**
 * Objects as this process saw them last, with their payload schemas compiled at first use. What it holds may be old:
 * whoever accepts an event compares the version in the same transaction, and whoever refuses one asks for `current` first.
 */
export class ObjectCatalogs implements Running {
  /** By what they were asked for, the one used last at the end. */
  readonly #known = new Map<string, KnownObject>()
  #size = 0

  constructor(
    private readonly database: Database,
    private readonly objects: ObjectRepository,
    private readonly acceptances: AcceptanceRepository,
    private readonly thread: SchemaThread,
  ) {}

  start(): void {}

  stop(): Promise<void> {
    return this.thread.close()
  }

  /** As it was last seen; undefined when it never was. */
  seen(ref: string): KnownObject | undefined {
    const known = this.#known.get(ref)
    if (known) this.#known.delete(ref)
    if (known) this.#known.set(ref, known)
    return known
  }

  /** As it is now; undefined when there is none. */
  async current(ref: string): Promise<KnownObject | undefined> {
    const known = this.#known.get(ref)
    if (known) {
      const versions = await this.acceptances.versions(this.database, [known.id])
      if (versions.get(known.id) === known.version) return known
    }
    const record = await this.objects.find(this.database, ref)
    this.#forget(ref)
    return record && this.#keep(ref, record)
  }

  #keep(ref: string, { id, name, app_id, version, catalog }: ObjectRecord): KnownObject {
    const checks = new Map(catalog.map((each) => [each.event, new PayloadCheck(each.payload_schema, this.thread, id)]))
    const known = { id, name, app_id, version, checks, size: objectSize + JSON.stringify(catalog).length }
    this.#known.set(ref, known)
    this.#size += known.size
    for (const [oldest] of this.#known) {
      if (this.#size <= keptSchemas) break
      this.#forget(oldest)
    }
    return known
  }

  #forget(ref: string): void {
    this.#size -= this.#known.get(ref)?.size ?? 0
    this.#known.delete(ref)
  }
}
