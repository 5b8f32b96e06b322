import { cpSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestDaemon } from '../support/daemon.js'

export interface TallyOptions {
  readonly say: (line: string) => void
  /** The command that repeats a round. */
  readonly again: (round: number) => string
}

/** What is told of one round. */
export interface RoundNews {
  /** What was done to the daemon. */
  readonly what: string
  readonly figures: string
  readonly violations: readonly string[]
}

/** Tells of each round as it ends. What breaks a rule for good breaks it in every later round, too: it counts once. */
export class Tally {
  rounds = 0
  readonly #violations = new Set<string>()
  #since = performance.now()

  constructor(private readonly options: TallyOptions) {}

  get violations(): string[] {
    return [...this.#violations]
  }

  /** From here on a round is timed. */
  begin(): void {
    this.#since = performance.now()
  }

  round(round: number, { what, figures, violations }: RoundNews, { data }: TestDaemon): void {
    const { say, again } = this.options
    this.rounds += 1
    const fresh = this.#tell(`round ${round}: ${what} (${secondsSince(this.#since)}, ${figures})`, violations)
    if (!fresh) return
    say(`    again: ${again(round)}`)
    const logs = mkdtempSync(join(tmpdir(), 'svc-chaos-log-'))
    cpSync(data.log, logs, { recursive: true })
    say(`    its logs: ${logs}`)
  }

  end(figures: string, violations: readonly string[]): void {
    this.#tell(`the end: ${figures}`, violations)
  }

  /** Answers whether one of them is new. */
  #tell(line: string, violations: readonly string[]): boolean {
    const fresh = violations.filter((sentence) => !this.#violations.has(sentence))
    for (const sentence of fresh) this.#violations.add(sentence)
    this.options.say(`${fresh.length ? '✗' : '✓'} ${line}`)
    for (const sentence of fresh) this.options.say(`    ${sentence}`)
    return fresh.length > 0
  }
}

export const secondsSince = (moment: number): string => `${((performance.now() - moment) / 1000).toFixed(1)} s`
