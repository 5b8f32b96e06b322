import type { Operation, ServiceName } from '../contract/define.js'

/**
 * Every subject of the bus. A command is an imperative, an event is in the past tense, and an id is a token of its own,
 * so that a permission can name it.
 */

const token = /^[A-Za-z0-9_-]+$/

const single = (value: string): string => {
  if (!token.test(value)) throw new Error(`"${value}" can't be one token of a subject`)
  return value
}

/** Name of an operation below its service: `host.broker.launch` of host is `broker.launch`, `nodes.create` stays. */
const verbOf = (entry: Operation): string =>
  entry.name.startsWith(`${entry.service}.`) ? entry.name.slice(entry.service.length + 1) : entry.name

export const subjects = {
  /**
   * Where an operation is asked for. `target` is the host id, which operations of `host` need and no others take.
   *
   * @throws Error when a target is missing, superfluous, or not one token.
   */
  command: (entry: Operation, target?: string): string => {
    if ((entry.service === 'host') !== (target !== undefined)) {
      throw new Error(`${entry.name}: ${target === undefined ? 'needs the id of a host' : 'takes no host id'}`)
    }
    return target === undefined
      ? `svc.cmd.${entry.service}.${verbOf(entry)}`
      : `svc.cmd.${entry.service}.${single(target)}.${verbOf(entry)}`
  },
  /**
   * Where one service takes back what it asked another: a caller can name its own calls alone. `from` is `*` for those
   * who serve; `target` as in `command`.
   */
  cancel: (service: ServiceName, from: ServiceName | '*', target?: string): string =>
    `svc.cancel.${service}.${target === undefined ? '' : `${single(target)}.`}${from}`,
  /** A durable event of a node, published after its commit; what happened, in the past tense. */
  nodeEvent: (id: string, type: string): string => `svc.evt.node.${single(id)}.${type}`,
  /** All durable events of one node, or of all. */
  nodeEvents: (id?: string): string => `svc.evt.node.${id === undefined ? '*' : single(id)}.>`,
  /** Deltas and signals of a node: lossy, not recorded. */
  nodeLive: (id: string): string => `svc.live.node.${single(id)}`,
  nodesLive: (): string => 'svc.live.node.*',
  /** That a token, a grant or the ways in have changed: told by one gateway to all, lossy. */
  trust: (): string => 'svc.evt.gateway.trust',
  /** That receivers have something new: told by one replica of `objects` to all, lossy. */
  deliveries: (): string => 'svc.evt.objects.deliveries',
  /** Below this a service receives answers; nobody else may listen there. */
  inbox: (service: ServiceName): string => `svc.inbox.${service}`,
} as const

/** The service that receives answers at this address. */
export const callerOf = (address: string): ServiceName => address.split('.', 3)[2] as ServiceName

interface Reach {
  /** What it asks of other services: subjects below each one's commands. */
  readonly calls: Readonly<Partial<Record<ServiceName, readonly string[]>>>
  readonly tail: 'publishes' | 'follows' | 'none'
  /** What its replicas tell each other, and nobody else. */
  readonly own?: readonly string[]
}

/**
 * Whoever may send a command names its actor, so that a service can do in another's name whatever it may send at all. Only
 * the gateway, which authenticates, may send everything. The host, beside which agents' programs run, tells of itself and
 * no more.
 */
const reach: Record<ServiceName, Reach> = {
  gateway: {
    calls: { lifecycle: ['>'], models: ['>'], scheduler: ['>'], objects: ['>'], host: ['*.bash.run', '*.files.*'] },
    tail: 'follows',
    own: [subjects.trust()],
  },
  lifecycle: {
    calls: {
      host: ['>'],
      models: ['ready', 'readiness'],
      scheduler: ['node.ended', 'node.succeeded'],
      objects: ['node.ended', 'node.succeeded'],
    },
    tail: 'publishes',
  },
  models: { calls: { lifecycle: ['usage.record'] }, tail: 'none' },
  // it names whom it acts for: lifecycle says what that one may do now, and the host is told as lifecycle said it
  scheduler: {
    calls: {
      lifecycle: ['work.*', 'concern.set'],
      host: ['*.bash.run'],
      objects: ['customObjects.publish', 'publication.check'],
    },
    tail: 'none',
  },
  // it asks of nodes in its callers' names, and follows what those do that are watched
  objects: {
    calls: {
      lifecycle: ['nodes.retrieve', 'canvas.readEvents', 'events.hand', 'concern.set'],
      host: ['*.argv.run'],
    },
    tail: 'follows',
    own: [subjects.deliveries()],
  },
  host: { calls: { lifecycle: ['host.>'] }, tail: 'none' },
}

/** A cancel of each call that a service may make. */
const cancelsOf = (service: ServiceName): string[] =>
  Object.keys(reach[service].calls).map((called) =>
    called === 'host' ? `svc.cancel.host.*.${service}` : subjects.cancel(called as ServiceName, service),
  )

/** Every service with a user on the bus. */
export const busServices = Object.keys(reach) as ServiceName[]
const tail = ['svc.evt.node.>', 'svc.live.>']

/** Whether a subject is one that a pattern names: `*` stands for a token, `>` for all that follow. */
const covers = (pattern: string, subject: string): boolean => {
  const [wanted, given] = [pattern.split('.'), subject.split('.')]
  const fits = wanted.every(
    (part, at) => part === '>' || (given[at] !== undefined && (part === '*' || part === given[at])),
  )
  return fits && (wanted.at(-1) === '>' ? given.length >= wanted.length : given.length === wanted.length)
}

/** What the NATS user of a service may publish and subscribe to: its own commands, those that it calls, and its inbox. */
export const permissionsOf = (service: ServiceName): { publish: string[]; subscribe: string[] } => {
  const { calls, tail: part, own = [] } = reach[service]
  // answers go to those who ask it; those whom it asks for a stream hear how much of it was read
  const partners = busServices.filter((other) => other in calls || service in reach[other].calls)
  return {
    publish: [
      ...partners.map((other) => `${subjects.inbox(other)}.>`),
      ...Object.entries(calls).flatMap(([called, verbs]) => verbs.map((verb) => `svc.cmd.${called}.${verb}`)),
      ...cancelsOf(service),
      ...(part === 'publishes' ? tail : []),
      ...own,
    ],
    subscribe: [
      `svc.cmd.${service}.>`,
      `svc.cancel.${service}.>`,
      `${subjects.inbox(service)}.>`,
      ...(part === 'follows' ? tail : []),
      ...own,
    ],
  }
}

const publishable = new Map<ServiceName, readonly string[]>()

/** Whether the rights of a service let it publish to a subject, as the server decides it. */
export const mayPublish = (service: ServiceName, subject: string): boolean => {
  const patterns = publishable.get(service) ?? permissionsOf(service).publish
  publishable.set(service, patterns)
  return patterns.some((pattern) => covers(pattern, subject))
}
