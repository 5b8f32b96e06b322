import { CanvasRoutes, type NodesListQuery, NodesRoutes, SystemRoutes } from '../generated/resources.js'
import type { Node, SystemStatus } from '../generated/types.js'
import type { RequestOptions } from '../options.js'
import type { Page } from '../page.js'

export interface Dashboard {
  nodes: Page<Node>
  status: SystemStatus
}

export class Canvas extends CanvasRoutes {
  /** Nodes and the state of the daemon in one object; the query is that of `nodes.list`. */
  async dashboard(query?: NodesListQuery, options?: RequestOptions): Promise<Dashboard> {
    const [nodes, status] = await Promise.all([
      new NodesRoutes(this.transport).list(query, options).page,
      new SystemRoutes(this.transport).status(options),
    ])
    return { nodes, status }
  }
}
