// Made from the contract by `npm run gen`. Do not edit.

import { Auth } from '../composed/auth.js'
import { Canvas } from '../composed/canvas.js'
import { Nodes } from '../composed/nodes.js'
import type { Transport } from '../transport.js'
import { HealthRoutes, ModelsConfigRoutes, ModelsCredentialsRoutes, ModelsRoutes, NodesReportsRoutes, NodesResultRoutes, SystemRoutes } from './resources.js'

export class NodesNamespace extends Nodes {
  readonly reports = new NodesReportsRoutes(this.transport)
  readonly result = new NodesResultRoutes(this.transport)
}

export class ModelsNamespace extends ModelsRoutes {
  readonly config = new ModelsConfigRoutes(this.transport)
  readonly credentials = new ModelsCredentialsRoutes(this.transport)
}

/** One property a namespace of the contract. */
export abstract class Namespaces {
  protected readonly transport: Transport
  readonly auth: Auth
  readonly canvas: Canvas
  readonly health: HealthRoutes
  readonly models: ModelsNamespace
  readonly nodes: NodesNamespace
  readonly system: SystemRoutes

  constructor(transport: Transport) {
    this.transport = transport
    this.auth = new Auth(transport)
    this.canvas = new Canvas(transport)
    this.health = new HealthRoutes(transport)
    this.models = new ModelsNamespace(transport)
    this.nodes = new NodesNamespace(transport)
    this.system = new SystemRoutes(transport)
  }
}
