import { AuthRoutes, SystemRoutes } from '../generated/resources.js'
import type { ModelReadiness, SystemStatus } from '../generated/types.js'
import type { RequestOptions } from '../options.js'

export interface AuthStatus {
  status: SystemStatus
  /** Null until the daemon is ready. */
  readiness: ModelReadiness | null
}

export class Auth extends AuthRoutes {
  /** State of the daemon, and once it is ready, which models can serve a call. */
  async status(options?: RequestOptions): Promise<AuthStatus> {
    const status = await new SystemRoutes(this.transport).status(options)
    if (!status.ready) return { status, readiness: null }
    const readiness = await this.transport.json<ModelReadiness>({
      method: 'GET',
      path: '/v1/model-auth/readiness',
      ...options,
    })
    return { status, readiness }
  }
}
