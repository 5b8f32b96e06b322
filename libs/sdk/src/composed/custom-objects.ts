import { CustomObjectsRoutes } from '../generated/resources.js'
import type { CustomObjectsAckBody, CustomObjectsAckResponse } from '../generated/types.js'
import type { RequestOptions } from '../options.js'

export class CustomObjects extends CustomObjectsRoutes {
  /** Acknowledge deliveries, which are not delivered again; at most 1,000 ids at once. What is acknowledged stays so. */
  override ack(
    ref: string,
    ids: readonly string[] | CustomObjectsAckBody,
    options?: RequestOptions,
  ): Promise<CustomObjectsAckResponse> {
    return super.ack(ref, 'ids' in ids ? ids : { ids: [...ids] }, options)
  }
}
