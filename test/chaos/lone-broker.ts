import { waitFor } from '#common/testing/wait-for.js'
import type { DaemonProcesses } from '../support/daemon-processes.js'

/** ms between two looks. */
const interval = 60

/** Looks again and again whether two brokers have processes at work for one node at the same moment. */
export class LoneBrokerCheck {
  readonly violations: string[] = []
  looks = 0
  #running = true
  readonly #done: Promise<unknown>

  constructor(private readonly processes: DaemonProcesses) {
    this.#done = waitFor(() => !this.#running || this.#look(), { timeout: 3_600_000, interval })
  }

  async stop(): Promise<void> {
    this.#running = false
    await this.#done
  }

  #look(): false {
    this.looks += 1
    for (const [node, brokers] of this.processes.toolsByNode()) {
      if (brokers.size > 1) this.violations.push(`${node} is hosted by ${[...brokers].join(' and ')} at once`)
    }
    return false
  }
}
