import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MockModel } from '#common/testing/mock-model.js'
import { TestDaemon } from '../support/daemon.js'
import { TcpProxy } from '../support/tcp-proxy.js'
import { faultsOf, textOfFault } from './fault.js'
import { Random } from './random.js'
import { type RoundResult, runRound } from './round.js'
import { storiesOf } from './story.run.js'
import { StreamWatch } from './stream-watch.js'

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
  const tally = new Tally(options)
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
      const started = performance.now()
      const result = await runRound({ daemon, edge, baseUrl, mock, seed, round, random, faults, stories, canvas })
      const what = `${stories.join(' + ')}; ${faults.map(textOfFault).join(', then ')}`
      tally.add(result, { round, what, faults: faults.length, took: seconds(started), log: daemon.data.log })
    }
  } finally {
    await Promise.all([canvas?.stop(), edge.close()])
    await daemon.stop()
  }
  return tally.result(seconds(began), canvas.resumptions)
}

interface Facts {
  readonly round: number
  readonly what: string
  readonly faults: number
  readonly took: string
  /** Directory of the daemon's logs. */
  readonly log: string
}

/** Tells of each round as it ends. A row that breaks a rule breaks it in every later round, too: it counts once. */
class Tally {
  readonly #results: RoundResult[] = []
  readonly #violations = new Set<string>()
  #faults = 0

  constructor(private readonly options: ChaosOptions) {}

  add(result: RoundResult, { round, what, faults, took, log }: Facts): void {
    const { say, seed } = this.options
    const fresh = result.violations.filter((sentence) => !this.#violations.has(sentence))
    for (const sentence of fresh) this.#violations.add(sentence)
    this.#results.push(result)
    this.#faults += faults
    const { nodes, died, unknownModelCalls, unknownToolCalls } = result
    const figures = `${took}, ${nodes} nodes, ${died} died, ${unknownModelCalls + unknownToolCalls} unknown`
    say(`${fresh.length ? '✗' : '✓'} round ${round}: ${what} (${figures})`)
    if (!fresh.length) return
    for (const sentence of fresh) say(`    ${sentence}`)
    say(`    again: npm run chaos -- --seed ${seed} --from ${round} --count 1`)
    const logs = mkdtempSync(join(tmpdir(), 'svc-chaos-log-'))
    cpSync(log, logs, { recursive: true })
    say(`    its logs: ${logs}`)
  }

  result(took: string, canvasResumptions: number): ChaosResult {
    const rounds = this.#results.length
    const violations = [...this.#violations]
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

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`
