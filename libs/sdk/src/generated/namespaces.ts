// Made from the contract by `npm run gen`. Do not edit.

import { Auth } from '../composed/auth.js'
import { Canvas } from '../composed/canvas.js'
import { CustomObjects } from '../composed/custom-objects.js'
import { Nodes } from '../composed/nodes.js'
import type { Transport } from '../transport.js'
import { AppsGrantRoutes, AppsRoutes, AuditRoutes, BashRoutes, CanvasHistoryRoutes, CanvasWatchesRoutes, CronsRoutes, CustomObjectsDeliveriesRoutes, CustomObjectsEventsRoutes, FilesRoutes, GrantRoutes, HealthRoutes, HumanRequestsRoutes, HumanRoutes, ModelsConfigRoutes, ModelsCredentialsRoutes, ModelsRoutes, NodesJobsRoutes, NodesReportsRoutes, NodesResultRoutes, NodesWorktreeRoutes, ProfilesRoutes, SystemRoutes, TokensRoutes } from './resources.js'

export class NodesNamespace extends Nodes {
  readonly jobs = new NodesJobsRoutes(this.transport)
  readonly reports = new NodesReportsRoutes(this.transport)
  readonly result = new NodesResultRoutes(this.transport)
  readonly worktree = new NodesWorktreeRoutes(this.transport)
}

export class ModelsNamespace extends ModelsRoutes {
  readonly config = new ModelsConfigRoutes(this.transport)
  readonly credentials = new ModelsCredentialsRoutes(this.transport)
}

export class HumanNamespace extends HumanRoutes {
  readonly requests = new HumanRequestsRoutes(this.transport)
}

export class CustomObjectsNamespace extends CustomObjects {
  readonly deliveries = new CustomObjectsDeliveriesRoutes(this.transport)
  readonly events = new CustomObjectsEventsRoutes(this.transport)
}

export class CanvasNamespace extends Canvas {
  readonly history = new CanvasHistoryRoutes(this.transport)
  readonly watches = new CanvasWatchesRoutes(this.transport)
}

export class AppsNamespace extends AppsRoutes {
  readonly grant = new AppsGrantRoutes(this.transport)
}

/** One property a namespace of the contract. */
export abstract class Namespaces {
  protected readonly transport: Transport
  readonly apps: AppsNamespace
  readonly audit: AuditRoutes
  readonly auth: Auth
  readonly bash: BashRoutes
  readonly canvas: CanvasNamespace
  readonly crons: CronsRoutes
  readonly customObjects: CustomObjectsNamespace
  readonly files: FilesRoutes
  readonly grant: GrantRoutes
  readonly health: HealthRoutes
  readonly human: HumanNamespace
  readonly models: ModelsNamespace
  readonly nodes: NodesNamespace
  readonly profiles: ProfilesRoutes
  readonly system: SystemRoutes
  readonly tokens: TokensRoutes

  constructor(transport: Transport) {
    this.transport = transport
    this.apps = new AppsNamespace(transport)
    this.audit = new AuditRoutes(transport)
    this.auth = new Auth(transport)
    this.bash = new BashRoutes(transport)
    this.canvas = new CanvasNamespace(transport)
    this.crons = new CronsRoutes(transport)
    this.customObjects = new CustomObjectsNamespace(transport)
    this.files = new FilesRoutes(transport)
    this.grant = new GrantRoutes(transport)
    this.health = new HealthRoutes(transport)
    this.human = new HumanNamespace(transport)
    this.models = new ModelsNamespace(transport)
    this.nodes = new NodesNamespace(transport)
    this.profiles = new ProfilesRoutes(transport)
    this.system = new SystemRoutes(transport)
    this.tokens = new TokensRoutes(transport)
  }
}
