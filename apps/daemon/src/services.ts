import type { ServiceDefinition } from '#common/kernel/service.js'

export interface ServiceEntry {
  readonly name: ServiceDefinition['name']
  load(): Promise<{ service: ServiceDefinition }>
  /** Serves people: started when all others serve, closed before any other. */
  readonly edge?: true
}

/** The services of the embedded daemon, all in its one process. A new one is a line here, its role and its reach. */
export const services: readonly ServiceEntry[] = [
  { name: 'lifecycle', load: () => import('#apps/lifecycle/src/lifecycle.module.js') },
  { name: 'models', load: () => import('#apps/models/src/models.module.js') },
  { name: 'scheduler', load: () => import('#apps/scheduler/src/scheduler.module.js') },
  { name: 'objects', load: () => import('#apps/objects/src/objects.module.js') },
  { name: 'gateway', load: () => import('#apps/gateway/src/gateway.module.js'), edge: true },
]
