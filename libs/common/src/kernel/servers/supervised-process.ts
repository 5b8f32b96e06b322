import { join } from 'node:path'
import { pause, systemClock } from '../clock.js'
import type { DataDirectory } from './data-directory.js'
import { type ProcessSpec, spawnDetached, supervisedAs } from './detached-process.js'
import { tailOf, trimLogFile } from './log-file.js'
import { readIfPresent, removeIfPresent, writePrivateFile } from './private-file.js'
import {
  findByEnvironment,
  isAlive,
  type ProcessIdentity,
  parentOf,
  parseIdentity,
  signal,
} from './process-identity.js'
import type { ServerLog } from './server-log.js'

export type ProcessOrigin = 'started' | 'adopted'

const watchEveryMs = 500
const trimEveryMs = 60_000
const longestBackOffMs = 10_000
/** A process that lived this long starts again without delay. */
const steadyAfterMs = 30_000
/** Over some 4 s: backends of a killed Postgres need a moment to leave its memory. */
const attemptsAtBoot = 8

/**
 * A child in a session of its own, which outlives this process and is adopted by the next one: its pid file names it
 * by pid and start time. While this process lives, a child that dies is started again with back-off, from the same
 * arguments, so that clients reconnect to the same address.
 */
export class SupervisedProcess {
  private readonly pidFile: string
  private readonly logFile: string
  private identity?: ProcessIdentity
  private startedAt = 0
  private failures = 0
  private readonly letGo = new AbortController()
  private restarting?: Promise<void>
  private timers: NodeJS.Timeout[] = []

  constructor(
    private readonly spec: ProcessSpec,
    private readonly data: DataDirectory,
    private readonly log: ServerLog,
  ) {
    this.pidFile = join(data.run, `${spec.name}.pid`)
    this.logFile = join(data.log, `${spec.name}.log`)
  }

  get pid(): number | undefined {
    return this.identity?.pid
  }

  /** Adopts the living process or starts one; resolves when it is ready. Throws with the end of its log. */
  async start(): Promise<ProcessOrigin> {
    const origin = await held(async () => ((await this.adopt()) ? 'adopted' : await this.startAtBoot()))
    this.timers = [
      setInterval(() => this.watch(), watchEveryMs).unref(),
      setInterval(() => this.trim(), trimEveryMs).unref(),
    ]
    return origin
  }

  /** Stops watching and leaves the process running. */
  release(): void {
    this.letGo.abort()
    for (const timer of this.timers) clearInterval(timer)
  }

  /** Stops the process and waits for its end: SIGKILL after the grace. */
  async stop(): Promise<void> {
    this.release()
    await this.restarting
    const identity = this.identity ?? this.findLiving()
    if (identity) await held(() => this.end(identity))
    removeIfPresent(this.pidFile)
  }

  private async adopt(): Promise<boolean> {
    const living = this.findLiving()
    if (!living) return this.clearStrays()
    if (this.storedFingerprint() !== this.spec.fingerprint && (await (this.spec.mayReplace?.() ?? true))) {
      this.log.info({ process: this.spec.name, pid: living.pid }, 'replacing a process of other settings')
      await this.end(living)
      return false
    }
    this.identity = living
    this.startedAt = performance.now()
    if (await this.becomesReady(living)) return true
    this.log.warn({ process: this.spec.name, pid: living.pid }, 'a process left by an earlier daemon does not answer')
    await this.end(living)
    return false
  }

  /** Ends processes of this name that have no pid file: their launcher was killed before it could write one. */
  private async clearStrays(): Promise<false> {
    const strays = findByEnvironment('SUPERVISED_AS', supervisedAs(this.spec.name, this.data))
    const pids = new Set(strays.map((stray) => stray.pid))
    const tops = strays.filter((stray) => !pids.has(parentOf(stray.pid) ?? 0))
    await Promise.all(tops.map((stray) => this.end(stray)))
    return false
  }

  private async startAtBoot(): Promise<'started'> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.launch()
        return 'started'
      } catch (error) {
        if (attempt === attemptsAtBoot || this.letGo.signal.aborted) throw error
        this.log.debug({ process: this.spec.name, attempt, err: error }, 'start failed, trying again')
        await pause(systemClock, 150 * attempt)
      }
    }
  }

  private async launch(): Promise<void> {
    await this.spec.prepare?.()
    const identity = await spawnDetached(this.spec, this.data, () => this.watch())
    this.identity = identity
    this.startedAt = performance.now()
    writePrivateFile(this.pidFile, JSON.stringify({ ...identity, fingerprint: this.spec.fingerprint }))
    if (await this.becomesReady(identity)) return
    const ended = !isAlive(identity)
    await this.end(identity)
    const how = ended ? 'ended while starting' : `was not ready within ${this.spec.readyWithinMs} ms`
    throw new Error(`${this.spec.name} ${how}. From ${this.logFile}:\n${tailOf(this.logFile)}`)
  }

  private async becomesReady(identity: ProcessIdentity): Promise<boolean> {
    const until = performance.now() + this.spec.readyWithinMs
    let wait = 4
    while (isAlive(identity) && performance.now() < until) {
      try {
        await this.spec.probe()
        return true
      } catch (error) {
        this.log.debug({ process: this.spec.name, reason: (error as Error).message }, 'not ready yet')
      }
      await pause(systemClock, wait)
      wait = Math.min(wait * 1.5, 100)
    }
    return false
  }

  private watch(): void {
    if (
      this.letGo.signal.aborted ||
      this.restarting ||
      !this.identity ||
      isAlive(this.identity) ||
      this.timers.length === 0
    )
      return
    this.log.warn({ process: this.spec.name, pid: this.identity.pid }, 'process ended, starting it again')
    this.restarting = this.restart().finally(() => {
      this.restarting = undefined
    })
  }

  private async restart(): Promise<void> {
    if (performance.now() - this.startedAt > steadyAfterMs) this.failures = 0
    while (!this.letGo.signal.aborted) {
      if (this.failures > 0)
        await pause(systemClock, Math.min(100 * 2 ** this.failures, longestBackOffMs), this.letGo.signal)
      if (this.letGo.signal.aborted) return
      this.failures += 1
      try {
        await this.launch()
        this.log.info({ process: this.spec.name, pid: this.pid }, 'process is back')
        return
      } catch (error) {
        this.log.error({ process: this.spec.name, attempt: this.failures, err: error }, 'process could not be started')
      }
    }
  }

  private async end(identity: ProcessIdentity): Promise<void> {
    const { spec } = this
    const until = performance.now() + spec.stopGraceMs
    signal(identity, spec.stopSignal)
    while (isAlive(identity)) {
      if (performance.now() > until) {
        this.log.warn(
          { process: spec.name, pid: identity.pid },
          `did not stop within ${spec.stopGraceMs} ms, killing it`,
        )
        signal(identity, 'SIGKILL')
      }
      await pause(systemClock, 10)
    }
  }

  private findLiving(): ProcessIdentity | undefined {
    const identity = parseIdentity(readIfPresent(this.pidFile) ?? '')
    return identity && isAlive(identity) ? identity : undefined
  }

  private storedFingerprint(): unknown {
    return JSON.parse(readIfPresent(this.pidFile) ?? '{}').fingerprint
  }

  private trim(): void {
    try {
      trimLogFile(this.logFile)
    } catch (error) {
      this.log.warn({ process: this.spec.name, err: error }, 'could not trim a log')
    }
  }
}

/** Keeps this process alive while it waits for another: the clock's own timers don't. */
async function held<T>(work: () => Promise<T>): Promise<T> {
  const hold = setInterval(() => undefined, 60_000)
  try {
    return await work()
  } finally {
    clearInterval(hold)
  }
}
