import { closeSync, writeSync } from 'node:fs'
import { openLogFile } from '#common/kernel/servers/log-file.js'

const rotateAfter = 8 * 1024 * 1024

/** What brokers write to their standard error, in one file; at most about 16 MiB with the one kept before it. */
export class BrokerLog {
  #file: number
  #written = 0

  constructor(private readonly path: string) {
    this.#file = openLogFile(path)
  }

  append(pid: number, text: string): void {
    const lines = text
      .replace(/\n$/, '')
      .split('\n')
      .map((line) => `[${pid}] ${line}\n`)
      .join('')
    try {
      this.#written += writeSync(this.#file, lines)
      if (this.#written > rotateAfter) this.#reopen()
    } catch (error) {
      // A full disk must not take the brokers down; the last lines still go out with the notice of an exit.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }

  close(): void {
    closeSync(this.#file)
  }

  #reopen(): void {
    closeSync(this.#file)
    this.#file = openLogFile(this.path)
    this.#written = 0
  }
}
