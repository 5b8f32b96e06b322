import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MockModel } from '#common/testing/mock-model.js'
import { TestDaemon } from '../support/daemon.js'
import { faultsOf, textOfFault } from './fault.js'
import { Random } from './random.js'
import { type RoundResult, runRound } from './round.js'

export interface ChaosOptions {
  seed: number
  /** Rounds, with one fault or two each. */
  count: number
  /** The first round, to repeat one of a longer run. Default 1. */
  from?: number
  say: (line: string) => void
}

export interface ChaosResult {
  rounds: number
  violations: string[]
  summary: string
}

/** Round after round against one daemon; the seed decides loads, faults and moments. */
export const runChaos = async ({ seed, count, from = 1, say }: ChaosOptions): Promise<ChaosResult> => {
  const results: RoundResult[] = []
  let hits = 0
  const began = performance.now()
  await using mock = await MockModel.start()
  const daemon = await TestDaemon.start()
  try {
    await daemon.useModel(mock)
    for (let round = from; round < from + count; round += 1) {
      const random = new Random(seed, round)
      const faults = faultsOf(round, (dozen) => new Random(seed, -1 - dozen), random)
      const started = performance.now()
      const result = await runRound({ daemon, mock, round, random, faults })
      results.push(result)
      hits += faults.length
      say(
        `${result.violations.length ? '✗' : '✓'} round ${round}: ${faults.map(textOfFault).join(', then ')} (${seconds(started)}, ` +
          `${result.died} died, ${result.unknownModelCalls + result.unknownToolCalls} unknown)`,
      )
      if (!result.violations.length) continue
      for (const sentence of result.violations) say(`    ${sentence}`)
      say(`    again: npm run chaos -- --seed ${seed} --from ${round} --count 1`)
      const logs = mkdtempSync(join(tmpdir(), 'svc-chaos-log-'))
      cpSync(daemon.data.log, logs, { recursive: true })
      say(`    its logs: ${logs}`)
    }
  } finally {
    await daemon.stop()
  }
  const violations = results.flatMap((result) => result.violations)
  const sum = (key: Exclude<keyof RoundResult, 'violations'>) =>
    results.reduce((total, result) => total + result[key], 0)
  const summary =
    `chaos: seed ${seed}, ${hits} faults in ${results.length} rounds,  ${seconds(began)}: ${sum('nodes')} nodes (${sum('died')} died, said so), ` +
    `${sum('modelCalls')} model calls (${sum('unknownModelCalls')} unknown), ${sum('toolCalls')} tool calls ` +
    `(${sum('unknownToolCalls')} unknown), ${sum('events')} events seen over ${sum('resumed')} resumptions; ` +
    `${violations.length} violations`
  return { rounds: results.length, violations, summary }
}

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`
