import { type Answer, type OwnDatabase, TestGateway } from '../../apps/gateway/src/testing/gateway.fixture.js'
import { contract, type OperationName } from '../../libs/common/src/contract/index.js'
import type { Settings } from '../../libs/common/src/kernel/config.js'
import { testDatabase } from '../../libs/common/src/testing/database.js'
import { LifecycleUnderTest } from './lifecycle-service.js'

export interface Call {
  readonly operation: OperationName
  /** Values of the path's parameters. */
  readonly at?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** The owner's unless given. */
  readonly token?: string
}

/** What stands in the rows of a node and must be as it was after a refusal. */
export interface Trace {
  readonly node: Record<string, unknown>
  readonly moves: readonly { event: string; to: string; intent: string | null }[]
  readonly events: readonly string[]
  /** How many mails, reports, results, jobs, questions, children, watchers and forks it has. */
  readonly counts: Record<string, number>
}

const traceOf = `
  SELECT to_jsonb(n) AS node,
    (SELECT coalesce(json_agg(json_build_object('event', event, 'to', to_status, 'intent', intent) ORDER BY version), '[]')
      FROM canvas.transitions WHERE node_id = n.id) AS moves,
    (SELECT coalesce(json_agg(type ORDER BY seq), '[]') FROM canvas.events WHERE node_id = n.id) AS events,
    json_build_object(
      'mail', (SELECT count(*) FROM canvas.mail WHERE node_id = n.id),
      'reports', (SELECT count(*) FROM canvas.reports WHERE node_id = n.id),
      'results', (SELECT count(*) FROM canvas.results WHERE node_id = n.id),
      'jobs', (SELECT count(*) FROM canvas.jobs WHERE node_id = n.id),
      'questions', (SELECT count(*) FROM canvas.human_requests WHERE node_id = n.id),
      'roadmaps', (SELECT count(*) FROM canvas.roadmaps WHERE node_id = n.id),
      'watches', (SELECT count(*) FROM canvas.subscriptions WHERE n.id IN (subscriber, publisher)),
      'kin', (SELECT count(*) FROM canvas.nodes k WHERE n.id IN (k.parent_id, k.succeeds, k.forked_from->>'node_id'))
    ) AS counts
  FROM canvas.nodes n WHERE n.id = $1`

/** Gateway and writer as they are in the daemon, asked over HTTP; the host and the processes of nodes are played. */
export class Edge {
  private constructor(
    readonly lifecycle: LifecycleUnderTest,
    readonly gateway: TestGateway,
  ) {}

  static async start(
    settings: Partial<Record<keyof Settings, unknown>> = {},
    prepare: (lifecycle: LifecycleUnderTest) => void = () => undefined,
  ): Promise<Edge> {
    const lifecycle = await LifecycleUnderTest.start({ settings, hosted: false })
    prepare(lifecycle)
    await lifecycle.host.join()
    await lifecycle.joinModels()
    const database: OwnDatabase = await testDatabase()
    const gateway = await TestGateway.start(lifecycle.nats, database, { SVC_DATA_DIR: lifecycle.dataDir })
    return new Edge(lifecycle, gateway)
  }

  ask({ operation, at = {}, body, token }: Call): Promise<Answer> {
    const { method, path } = contract[operation] as { method?: string; path?: string }
    if (!method || !path) throw new Error(`${operation} is no route`)
    return this.gateway.ask({
      method,
      path: path.replace(/\{(\w+)\}/g, (_, name: string) => at[name] ?? ''),
      ...(body !== undefined && { body }),
      ...(token !== undefined && { token }),
    })
  }

  async trace(id: string): Promise<Trace> {
    const [found] = await this.lifecycle.database.query<Trace>(traceOf, [id])
    if (!found) throw new Error(`there is no row of ${id}`)
    return found
  }

  async stop(): Promise<void> {
    await this.lifecycle.stop()
    await this.gateway.stop()
  }
}
