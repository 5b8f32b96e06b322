import { Inject, Injectable } from '@nestjs/common'
import { contract } from '#common/contract/index.js'
import type { BrokerExit } from '#common/contract/internal.operations.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { backoff, type Clock, pause, systemClock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import { hasCode } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { version } from '#common/kernel/version.js'
import { BrokerService } from '../broker/broker.service.js'
import { HOST_PLACE, type HostPlace } from '../host.place.js'
import { JobService } from '../job/job.service.js'
import { SANDBOX_GROUND, type SandboxGround } from '../sandbox/sandbox.ground.js'
import { SandboxPlanner } from '../sandbox/sandbox.planner.js'

/** Between two hellos that were heard (ms). */
const beat = 2000
/** Longest wait for one answer of lifecycle (ms). */
const patience = 5000
/** Notices that wait for lifecycle; older ones are left to the next hello, which carries the truth anyway. */
const noticesKept = 1000

/** Tells lifecycle that this host is there, what it hosts, and what is gone; for ever, whoever restarts meanwhile. */
@Injectable()
export class HeartbeatService {
  readonly #ended = new AbortController()
  readonly #notices: BrokerExit[] = []
  readonly #clock: Clock = systemClock
  #running: Promise<void> = Promise.resolve()
  #sending: Promise<void> | undefined
  #refused = false

  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(BrokerService) private readonly brokers: BrokerService,
    @Inject(JobService) private readonly jobs: JobService,
    @Inject(HOST_PLACE) private readonly place: HostPlace,
    @Inject(SANDBOX_GROUND) private readonly ground: SandboxGround,
    @Inject(SandboxPlanner) private readonly planner: SandboxPlanner,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  start(): void {
    this.brokers.onExit = (exit) => this.#notify(exit)
    this.#running = this.#beat()
  }

  /** The last notices get one more try; then no hello is sent any more. */
  async stop(): Promise<void> {
    this.#ended.abort()
    await this.#running
    await this.#sending
    const rest = this.#notices.splice(0)
    await Promise.allSettled(rest.map((exit) => this.#exited(exit, 1000)))
  }

  async #beat(): Promise<void> {
    const { signal } = this.#ended
    for (let failures = 0; !signal.aborted; ) {
      failures = (await this.#hello()) ? 0 : failures + 1
      await pause(this.#clock, failures ? 50 + backoff(failures, 50, beat) : beat, signal)
    }
  }

  /** Whether lifecycle heard it. */
  async #hello(): Promise<boolean> {
    const { hostId: host_id, incarnation, cap } = this.place
    const { live, warm } = this.brokers
    const { level, detail } = this.ground.level
    const sandbox = { level, detail }
    const [brokers, jobs] = [this.brokers.hosted(), this.jobs.hosted()]
    const hello = { host_id, incarnation, version, live, warm, cap, sandbox, brokers, jobs }
    try {
      const { consent } = await this.bus.call(contract['lifecycle.host.hello'], systemContext('host'), hello, {
        timeout: patience,
      })
      this.planner.consented = consent
      this.#refused = false
      return true
    } catch (error) {
      if (hasCode(error, 'version_mismatch') && !this.#refused) {
        this.#refused = true
        this.log.error({ err: error }, 'the daemon is of another version: restart this host')
      } else this.log.debug({ reason: (error as Error).message }, 'lifecycle did not hear the hello')
      return false
    }
  }

  #notify(exit: BrokerExit): void {
    this.log[exit.clean ? 'debug' : 'warn']({ ...exit }, 'a broker is gone')
    this.#notices.push(exit)
    if (this.#notices.length > noticesKept) this.#notices.shift()
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
  }

  async #send(): Promise<void> {
    const { signal } = this.#ended
    for (let failures = 0; this.#notices.length && !signal.aborted; ) {
      const [exit] = this.#notices
      try {
        await this.#exited(exit!, patience)
        if (this.#notices[0] === exit) this.#notices.shift()
        failures = 0
      } catch (error) {
        failures += 1
        this.log.debug({ reason: (error as Error).message }, 'lifecycle did not take the notice of an exit')
        await pause(this.#clock, 50 + backoff(failures, 50, beat), signal)
      }
    }
  }

  #exited(exit: BrokerExit, timeout: number): Promise<unknown> {
    const input = { host_id: this.place.hostId, exit }
    return this.bus.call(contract['lifecycle.host.exited'], systemContext('host'), input, { timeout })
  }
}
