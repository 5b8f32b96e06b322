import { TestDaemon } from '../../support/daemon.js'
import { apart } from '../apart.js'
import { Random } from '../random.js'
import { patience } from '../stage.js'
import { secondsSince, Tally } from '../tally.js'
import { HookReceiver } from './hook.receiver.js'
import { type ObjectFault, textOfObjectFault } from './object.fault.js'
import { type ObjectRoundResult, type ObjectStage, runObjectRound } from './object.round.js'
import { type QueueName, queues, setScene } from './object.scene.js'
import { QueueConsumer } from './queue.consumer.js'

export interface ObjectChaosOptions {
  readonly seed: number
  /** Rounds, with one fault or two each. */
  readonly count: number
  /** The first round, to repeat one of a longer run. Default 1. */
  readonly from?: number
  readonly say: (line: string) => void
}

export interface ObjectChaosResult {
  readonly rounds: number
  readonly violations: string[]
  readonly summary: string
}

/** Round after round against one daemon; the seed decides what is published, by whom, faults and moments. */
export const runObjectChaos = async (options: ObjectChaosOptions): Promise<ObjectChaosResult> => {
  const { seed, count, from = 1, say } = options
  const began = performance.now()
  const again = (round: number) => `npm run chaos -- --target objects --seed ${seed} --from ${round} --count 1`
  const tally = new Tally({ say, again })
  const sums = new Sums()
  const daemon = await TestDaemon.prepare(apart('objects', 'gateway', 'lifecycle'))
  const hook = await HookReceiver.listen(new Random(seed, 0, 1))
  let stage: ObjectStage | undefined
  try {
    await daemon.start()
    stage = await setStage(daemon, hook, seed)
    for (let round = from; round < from + count; round += 1) {
      tally.begin()
      const result = await runObjectRound(stage, round)
      sums.add(result)
      const { faults, accepted, refused, violations } = result
      const what = faults.map(textOfObjectFault).join(', then ')
      tally.round(round, { what, figures: `${accepted} accepted, ${refused} refused`, violations }, daemon)
    }
  } finally {
    await Promise.all([...(stage?.consumers.values() ?? [])].map((consumer) => consumer.stop()))
    await hook.stop()
    await daemon.stop()
  }
  const { rounds, violations } = tally
  const summary =
    `chaos objects: seed ${seed}, ${rounds} rounds, ${secondsSince(began)}: ${sums.text(stage)}; ` +
    `${violations.length} violations`
  return { rounds, violations, summary }
}

const setStage = async (daemon: TestDaemon, hook: HookReceiver, seed: number): Promise<ObjectStage> => {
  const client = daemon.client(patience)
  const scene = await setScene(client, hook.url, daemon.workDir)
  hook.secret = scene.hookSecret
  const publishers = new Map(
    [...scene.tokens].map(([source, token]) => [source, daemon.client({ ...patience, token })]),
  )
  const names = Object.keys(queues) as QueueName[]
  const consumers = new Map(
    names.map((name, at) => [name, new QueueConsumer(client, name, new Random(seed, 0, 2 + at))]),
  )
  return { daemon, client, publishers, scene, seed, hook, consumers, accepted: [] }
}

/** What came of the rounds. */
class Sums {
  readonly #faults: ObjectFault[] = []
  #accepted = 0
  #refused = 0

  add({ faults, accepted, refused }: ObjectRoundResult): void {
    this.#faults.push(...faults)
    this.#accepted += accepted
    this.#refused += refused
  }

  text(stage: ObjectStage): string {
    const kills = this.#faults.filter(({ way }) => way === 'kill').length
    const received = [...stage.consumers.values()]
    const again = received.reduce((sum, consumer) => sum + consumer.again, 0)
    const connections = received.reduce((sum, consumer) => sum + consumer.connections, 0)
    return (
      `${this.#faults.length} faults (${kills} SIGKILL), ${this.#accepted} events accepted, ${this.#refused} requests refused, ` +
      `${received.reduce((sum, { arrivals }) => sum + arrivals.length, 0)} received over ${connections} connections ` +
      `(${again} again), ${stage.hook.requests} sent to an address (${stage.hook.spoiled} failed)`
    )
  }
}
