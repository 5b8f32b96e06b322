import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { requirePublisher } from '../object/object.access.js'
import { requireDeclared } from '../publish/declared.check.js'
import { givenEvents } from '../publish/given.event.js'
import type { ObjectCatalogs } from '../publish/object.catalogs.js'

const check = contract['objects.publication.check']

/** Whether something could be published: by the same path that publishes, up to where that would write. */
export class PublicationCheck {
  constructor(private readonly catalogs: ObjectCatalogs) {}

  /** @throws SvcError not_found, event_not_declared, payload_schema_mismatch, payload_too_large */
  async check(ctx: Context, { ref, ...event }: InputOf<typeof check>): Promise<OutputOf<typeof check>> {
    const given = givenEvents([event], () => '')
    const object = requirePublisher(ctx, ref, await this.catalogs.current(ref))
    await requireDeclared(object, given)
    return { object_id: object.id }
  }
}
