import type { Listener } from '../../libs/common/src/contract/index.js'

/**
 * Whom a route lets pass, as the contract's text says it. Written by hand, route by route: what the code does is held
 * against it, never taken from it.
 *
 * - `anyone`: without a token too.
 * - `bearer`: with any valid token, an object's publish token too.
 * - `holder`: with any valid token of the owner's, an app's or a node's; the service confines what it sees.
 * - `owner`, `app`: that kind of token alone.
 * - `self`: a node on itself; `process`: and only its newest process; `paid`: and only while its app has its grant.
 * - `scope`: whoever holds it; `selfOr`: or a node on itself; `pubOr`: or an object's publish token, confined to its object
 *   by the service.
 */
export type Passes =
  | { readonly by: 'anyone' | 'bearer' | 'holder' | 'owner' | 'app' | 'self' | 'process' | 'paid' }
  | { readonly by: 'scope' | 'selfOr' | 'pubOr'; readonly scope: string }

export interface Row {
  readonly on: readonly Listener[]
  readonly passes: Passes
}

const row = (passes: Passes, ...on: Listener[]): Row => ({ passes, on: on.length > 0 ? on : ['owner'] })

const anyone: Passes = { by: 'anyone' }
const holder = row({ by: 'holder' })
const owner = row({ by: 'owner' })
const self = row({ by: 'self' })
const newest = row({ by: 'process' })
/** "creating, forking, reviving, closing and messaging nodes; bash and files; creating a human request or review" */
const act = row({ by: 'scope', scope: 'svc:act' })
/** "a node on itself: its reports, result, mail, yield, promote, its jobs and its roadmap"; on another it is `svc:act` */
const selfOrAct = row({ by: 'selfOr', scope: 'svc:act' })
/** "daemon-mediated model calls (POST /v1/llm)" */
const llm = row({ by: 'scope', scope: 'svc:llm' })
/** "creating, pausing, resuming, running and deleting crons" */
const schedule = row({ by: 'scope', scope: 'svc:schedule' })

/** "`publish(ref, body)` sends one declared event; a custom object may publish with that token alone" */
const publishing = row({ by: 'pubOr', scope: 'svc:act' })

/** One row a route. */
export const table: Readonly<Record<string, Row>> = {
  // liveness, and what a client needs before it has a token
  'system.health': row(anyone, 'owner', 'app'),
  'system.openapi': row(anyone, 'owner', 'app'),
  'health.get': row(anyone, 'app'),
  'system.status': holder,

  // tokens, apps, grants, and where the daemon is reached from are the owner's
  'tokens.create': owner,
  'tokens.list': owner,
  'tokens.retrieve': owner,
  'tokens.rotate': owner,
  'tokens.revoke': owner,
  'tokens.self': row({ by: 'bearer' }, 'owner', 'app'),
  'apps.create': owner,
  'apps.list': owner,
  'apps.retrieve': owner,
  'apps.update': owner,
  'apps.delete': owner,
  'apps.grant.set': owner,
  'apps.grant.revoke': owner,
  'grant.get': row({ by: 'app' }, 'app'),
  'access.retrieve': owner,
  'access.update': owner,
  'audit.list': owner,

  // reads of nodes are free within one's own subtree or app
  'nodes.retrieve': holder,
  'nodes.list': holder,
  'nodes.outcome': holder,
  'nodes.events': holder,
  'nodes.stream': holder,
  'nodes.reports.list': holder,
  'nodes.attachments.retrieve': holder,
  'nodes.jobs.list': holder,
  'nodes.jobs.output': holder,
  'nodes.faults.list': holder,
  'nodes.roadmap.retrieve': holder,
  'canvas.subscriptions.list': holder,
  'canvas.roster': holder,
  'canvas.snapshot': holder,
  'canvas.attention': holder,
  'canvas.attentionCounts': holder,
  'canvas.events': holder,
  'canvas.history.search': holder,
  'canvas.history.grep': holder,
  'canvas.history.read': holder,
  'canvas.history.stats': holder,
  'profiles.retrieve': holder,
  'kinds.list': holder,
  // a look at another node until it rests, or a node's own wait: the service tells them apart
  'nodes.wait': holder,

  // changing another node
  'nodes.create': act,
  'nodes.fork': act,
  'nodes.revive': act,
  'nodes.cancel': act,
  'nodes.message': act,
  'nodes.interrupt': act,
  'nodes.update': act,
  'nodes.demote': act,
  'nodes.recycle': act,
  'nodes.relaunchRoot': act,
  'nodes.retry': act,
  'canvas.subscriptions.put': act,
  'canvas.subscriptions.delete': act,
  // a command in the background is a command
  'nodes.jobs.start': act,

  // of itself
  'nodes.reports.push': self,
  'nodes.result.submit': selfOrAct,
  'nodes.promote': selfOrAct,
  'nodes.yield': selfOrAct,
  'nodes.roadmap.write': selfOrAct,
  'nodes.jobs.cancel': selfOrAct,
  'nodes.worktree.close': selfOrAct,
  'nodes.worktree.abandon': selfOrAct,

  // the broker's control plane: an outside caller would become a second writer
  'nodes.mail.claim': newest,
  'nodes.mail.acknowledge': newest,
  'nodes.faults.record': newest,
  'nodes.broker.bind': newest,
  'nodes.broker.journal': newest,
  'nodes.broker.readJournal': newest,
  'nodes.broker.settle': newest,
  'nodes.broker.modelCall': row({ by: 'paid' }),
  'nodes.broker.modelCallCancel': newest,
  'nodes.broker.deltas': newest,
  'nodes.broker.signals': newest,
  'nodes.broker.viewer': newest,

  // the whole canvas, the viewer's panes, a path on this machine
  'nodes.reviveAll': owner,
  'canvas.prune': owner,
  'profiles.ensure': owner,
  'focuses.list': owner,
  'focuses.set': owner,
  'focuses.delete': owner,
  'nodes.attach': owner,

  // people
  'human.requests.create': act,
  'human.requests.replace': act,
  'human.requests.cancel': act,
  'human.requests.retrieve': holder,
  'human.requests.list': holder,
  'human.requests.respond': owner,
  'human.requests.dismiss': owner,

  // the machine
  'files.read': act,
  'files.write': act,
  'files.list': act,
  'bash.run': act,

  // schedules; which of them somebody sees is the scheduler's to say
  'crons.create': schedule,
  'crons.pause': schedule,
  'crons.resume': schedule,
  'crons.run': schedule,
  'crons.delete': schedule,
  'crons.preview': schedule,
  'crons.retrieve': holder,
  'crons.list': holder,
  'crons.fires.list': holder,
  'crons.next': holder,
  'ledger.list': holder,
  // all of them at once
  'crons.poke': owner,

  // custom objects: who registers and who consumes is the owner; which of them somebody else sees is their service's to say
  'customObjects.register': owner,
  'customObjects.update': owner,
  'customObjects.rotate': owner,
  'customObjects.unregister': owner,
  'customObjects.receive': owner,
  'customObjects.ack': owner,
  'customObjects.pause': owner,
  'customObjects.resume': owner,
  'customObjects.deliveries.list': owner,
  'customObjects.deliveries.replay': owner,
  'customObjects.publish': publishing,
  'customObjects.publishBatch': publishing,
  'customObjects.list': holder,
  'customObjects.retrieve': holder,
  'customObjects.events.list': holder,
  'customObjects.types': holder,
  'customObjects.asyncapi': holder,
  'canvas.watches.list': holder,
  'canvas.watches.put': act,
  'canvas.watches.delete': act,

  // models
  'llm.call': llm,
  'models.readiness': holder,
  'models.credentials.list': owner,
  'models.credentials.install': owner,
  'models.credentials.remove': owner,
  'models.config.update': owner,
  'models.config.retrieve': owner,

  // what the owner consents to and keeps
  'sandbox.get': owner,
  'sandbox.consent': owner,
  'sandbox.revoke': owner,
  'retention.show': owner,
}
