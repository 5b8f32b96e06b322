import { MockModel } from '#common/testing/mock-model.js'
import { TestDaemon } from '../support/daemon.js'
import { TcpProxy } from '../support/tcp-proxy.js'
import { faultsOf, textOfFault } from './fault.js'
import { Random } from './random.js'
import { type RoundResult, runRound } from './round.js'
import { storiesOf } from './story.run.js'
import { StreamWatch } from './stream-watch.js'
import { secondsSince, Tally } from './tally.js'

export interface ChaosOptions {
  seed: number
  /** Rounds, with one fault or two each. */
  count: number
  /** No round begins after so many minutes. Default: none is kept from it. */
  minutes?: number
  /** The first round, to repeat one of a longer run. Default 1. */
  from?: number
  say: (line: string) => void
}

export interface ChaosResult {
  rounds: number
  violations: string[]
  summary: string
}

/** Round after round against one daemon; the seed decides loads, stories, faults and moments. */
export const runChaos = async (options: ChaosOptions): Promise<ChaosResult> => {
  const { seed, count, from = 1, minutes = Number.POSITIVE_INFINITY } = options
  const began = performance.now()
  const tally = new CanvasTally(options)
  await using mock = await MockModel.start()
  const daemon = await TestDaemon.prepare()
  const edge = await TcpProxy.before(daemon.baseUrl)
  const baseUrl = edge.through(daemon.baseUrl).replace(/\/$/, '')
  daemon.env.SVC_BASE_URL = baseUrl
  let canvas: StreamWatch | undefined
  try {
    await daemon.start()
    await daemon.useModel(mock)
    canvas = new StreamWatch({ baseUrl, token: daemon.token, path: '/v1/canvas/events', after: '0' })
    for (let round = from; round < from + count; round += 1) {
      if (performance.now() - began > minutes * 60_000) break
      const random = new Random(seed, round)
      const faults = faultsOf(round, (cycle) => new Random(seed, -1 - cycle), random)
      const stories = storiesOf(round, (cycle) => new Random(seed, -1 - cycle, 1))
      tally.begin()
      const result = await runRound({ daemon, edge, baseUrl, mock, seed, round, random, faults, stories, canvas })
      const what = `${stories.join(' + ')}; ${faults.map(textOfFault).join(', then ')}`
      tally.add(result, { round, what, faults: faults.length, daemon })
    }
  } finally {
    await Promise.all([canvas?.stop(), edge.close()])
    await daemon.stop()
  }
  return tally.result(secondsSince(began), canvas.resumptions)
}

interface Facts {
  readonly round: number
  readonly what: string
  readonly faults: number
  readonly daemon: TestDaemon
}

/** What came of the rounds. */
class CanvasTally {
  readonly #results: RoundResult[] = []
  #faults = 0
  readonly #tally: Tally

  constructor(private readonly options: ChaosOptions) {
    const { say, seed } = options
    this.#tally = new Tally({ say, again: (round) => `npm run chaos -- --seed ${seed} --from ${round} --count 1` })
  }

  begin(): void {
    this.#tally.begin()
  }

  add(result: RoundResult, { round, what, faults, daemon }: Facts): void {
    this.#results.push(result)
    this.#faults += faults
    const { nodes, died, unknownModelCalls, unknownToolCalls, violations } = result
    const figures = `${nodes} nodes, ${died} died, ${unknownModelCalls + unknownToolCalls} unknown`
    this.#tally.round(round, { what, figures, violations }, daemon)
  }

  result(took: string, canvasResumptions: number): ChaosResult {
    const { rounds, violations } = this.#tally
    const sum = (key: Exclude<keyof RoundResult, 'violations'>) =>
      this.#results.reduce((total, result) => total + result[key], 0)
    const summary =
      `chaos: seed ${this.options.seed}, ${this.#faults} faults in ${rounds} rounds, ${took}: ${sum('nodes')} nodes ` +
      `(${sum('died')} died, said so), ${sum('messages')} messages, ${sum('modelCalls')} model calls ` +
      `(${sum('unknownModelCalls')} unknown), ${sum('toolCalls')} tool calls (${sum('unknownToolCalls')} unknown), ` +
      `${sum('events')} events seen over ${sum('resumed') + canvasResumptions} resumptions; ${violations.length} violations`
    return { rounds, violations, summary }
  }
}
