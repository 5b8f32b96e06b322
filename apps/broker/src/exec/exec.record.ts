import { OutputCapture } from '#machine/output/output.capture.js'
import type { ToolEnd } from '../process/tool-process.js'

/** The record of a run keeps at most 256 KiB of its output. */
const recordLimits = { head: 64 * 1024, tail: 192 * 1024 }
const reportTail = 64 * 1024
const faultTail = 3000

/** What a program prints, as it is kept, streamed and told. */
export class ExecRecord {
  readonly #all = new OutputCapture(recordLimits)
  readonly #stdout = new OutputCapture({ head: 0, tail: reportTail })
  readonly #stderr = new OutputCapture({ head: 0, tail: faultTail })
  readonly #decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() }

  /** @param tell is given whole characters only, wherever the program's writes were cut. */
  constructor(private readonly tell: (channel: 'stdout' | 'stderr', text: string) => void) {}

  add(channel: 'stdout' | 'stderr', chunk: Buffer): void {
    this.#all.add(chunk)
    const own = channel === 'stdout' ? this.#stdout : this.#stderr
    own.add(chunk)
    this.tell(channel, this.#decoders[channel].decode(chunk, { stream: true }))
  }

  get output(): string {
    return this.#all.text()
  }

  /** What a program reports by printing it, or a sentence when it printed nothing. */
  get report(): string {
    const text = this.#stdout.text(({ omitted }) => `[… ${omitted} bytes before this were left out …]`).trim()
    return text || 'The program ended with exit code 0 and printed nothing.'
  }

  /** Why a run counts as failed. */
  failure({ code, signal }: Pick<ToolEnd, 'code' | 'signal'>): string {
    const how = signal ? `was ended by ${signal}` : `ended with exit code ${code}`
    const said = this.#stderr.text(() => '[…]').trim()
    return said
      ? `The program ${how}. The end of its standard error:\n${said}`
      : `The program ${how} and wrote nothing to its standard error.`
  }
}
