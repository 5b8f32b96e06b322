import { systemClock } from '#common/kernel/clock.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client } from '#sdk/index.js'
import type { TestDaemon } from '../../support/daemon.js'
import { broken } from '../canvas.look.js'
import { reached } from '../moment.js'
import { Random } from '../random.js'
import type { HookReceiver } from './hook.receiver.js'
import { carryOutObjectFault, type ObjectFault, objectFaultsOf } from './object.fault.js'
import { eventsAsTold, mailOfNode, owed, receivedInOrder, sentToAddress, told } from './object.look.js'
import { lanesOf, loadLength } from './object.plan.js'
import { type Accepted, Publisher } from './object.publisher.js'
import { objectRestRules, objectRules } from './object.rules.js'
import { type QueueName, queues, type Scene } from './object.scene.js'
import type { QueueConsumer } from './queue.consumer.js'

/** ms that everything may take to come to rest once the faults are over. */
const restWithin = 120_000
/** Rounds of which one has an address that fails: what failed is tried again seconds later. */
const spoiledEvery = 3
/** Rounds of which one waits until consumers notice by themselves that nobody speaks to them any more. */
const patientEvery = 4

export interface ObjectStage {
  readonly daemon: TestDaemon
  readonly client: Client
  /** By source: one that has its publish token alone. */
  readonly publishers: ReadonlyMap<string, Client>
  readonly scene: Scene
  readonly seed: number
  readonly hook: HookReceiver
  readonly consumers: ReadonlyMap<QueueName, QueueConsumer>
  /** Over all rounds. */
  readonly accepted: Accepted[]
}

export interface ObjectRoundResult {
  readonly faults: readonly ObjectFault[]
  readonly accepted: number
  readonly refused: number
  readonly violations: string[]
}

/** Events are published and received while faults hit, until all has come to rest; then a look at what must hold. */
export const runObjectRound = async (stage: ObjectStage, round: number): Promise<ObjectRoundResult> => {
  const { daemon, seed, hook, consumers } = stage
  const random = new Random(seed, round)
  const lanes = lanesOf(round, random)
  const faults = objectFaultsOf(round, (cycle) => new Random(seed, -1 - cycle), random)
  hook.spoils = round % spoiledEvery === 0
  const began = systemClock.now()
  const publishers = lanes.map((_, lane) => new Publisher(`${seed}-${round}-${lane}`, stage.publishers))
  const outcomes = await Promise.allSettled([
    ...lanes.map((errands, lane) => publishers[lane]?.run(errands, began)),
    ...faults.map((fault) => carryOutObjectFault(daemon, began, fault)),
    ...[...consumers.values()].map((consumer) => killed(consumer, began, new Random(seed, round, random.next() * 1e6))),
  ])
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))
  const accepted = publishers.flatMap((publisher) => publisher.accepted)
  stage.accepted.push(...onceBySource(accepted))
  if (round % patientEvery) for (const consumer of consumers.values()) consumer.kill()
  const late = await atRest(stage)
  return {
    faults,
    accepted: accepted.length,
    refused: publishers.reduce((sum, publisher) => sum + publisher.refused, 0),
    violations: [...failures, ...publishers.flatMap(({ violations }) => violations), ...late, ...(await lookAt(stage))],
  }
}

/** In the order in which each source numbered them. */
const onceBySource = (accepted: readonly Accepted[]): Accepted[] => accepted.toSorted((a, b) => a.seq - b.seq)

/** A consumer ends now and then, and begins anew. */
const killed = async (consumer: QueueConsumer, began: number, random: Random): Promise<void> => {
  for (let at = random.between(200, 1500); at < loadLength + 2000; at += random.between(300, 1500)) {
    await reached(began + at)
    consumer.kill()
  }
}

/** Resolves when all has arrived everywhere; says what has not when that takes too long. */
const atRest = async ({ daemon, consumers, accepted }: ObjectStage): Promise<string[]> => {
  let left: string[] = []
  const settled = async (): Promise<boolean> => {
    const missing = [...consumers].flatMap(([queue, consumer]) => {
      const count = owed(accepted, queues[queue]).filter(({ id }) => !consumer.has(id)).length
      return count ? [`${count} events have not come to ${queue}`] : []
    })
    left = missing.length ? missing : await restOf(daemon)
    return left.length === 0
  }
  const late = await waitFor(settled, { timeout: restWithin, interval: 100, what: 'rest' }).then(
    () => [],
    (error: unknown) => [`${error}`, ...left],
  )
  const settling = await Promise.allSettled([...consumers.values()].map((consumer) => consumer.settle(restWithin)))
  return [...late, ...settling.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))]
}

const restOf = async (daemon: TestDaemon): Promise<string[]> => {
  const database = await daemon.database()
  try {
    return await broken(database, objectRestRules)
  } finally {
    await database.close()
  }
}

const lookAt = async ({ daemon, client, scene, hook, consumers, accepted }: ObjectStage): Promise<string[]> => {
  const database = await daemon.database()
  try {
    return [
      ...(await eventsAsTold(database, scene, accepted)),
      ...[...consumers].flatMap(([queue, consumer]) => receivedInOrder(queue, consumer, accepted)),
      ...[...consumers.values()].flatMap(({ violations }) => violations),
      ...sentToAddress(hook, accepted),
      ...hook.violations,
      ...(await mailOfNode(database, scene, accepted)),
      ...(await broken(database, objectRules)),
      ...(await told(client, accepted)),
    ]
  } finally {
    await database.close()
  }
}
