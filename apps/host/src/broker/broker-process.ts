import { type ChildProcess, fork } from 'node:child_process'
import { type Clock, isoTime } from '#common/kernel/clock.js'
import { ProcessGroup } from '#machine/process/process.group.js'
import { startOf } from '#machine/process/process-table.js'
import { type Belongs, carries, endTree, treeOf } from '#machine/process/process-tree.js'
import { prlimit, withoutCores } from '#machine/process/program.bounds.js'
import type { BrokerLog } from './broker.log.js'
import { type Attach, isAttached, isReleased, type Released, type Serve } from './broker.messages.js'

export interface BrokerExitStatus {
  readonly code: number | null
  readonly signal: string | null
}

export interface BrokerProcessSettings {
  readonly program: string
  /** `<host>:<incarnation>:<slot>`, in the environment of the broker and of all that it starts. */
  readonly mark: string
  readonly dataMark: string
  readonly clock: Clock
  readonly log: BrokerLog
  onReleased(message: Released): void
}

/** Small pages of young objects: a broker spends its life waiting. */
const brokerFlags = ['--max-semi-space-size=2', '--disable-warning=ExperimentalWarning']

/** Neither a broker nor what it starts leaves its memory in a file. */
const program = prlimit
  ? { execPath: prlimit, execArgv: [withoutCores, '--', process.execPath, ...brokerFlags] }
  : { execArgv: brokerFlags }

const kept = ['PATH', 'HOME', 'LANG', 'TZ', 'TERM'] as const
const tailBytes = 4000
/** A broker has some dozen threads, which count. */
const ownThreads = 32
/** After a broker's exit its last words may still be on their way (ms). */
const lastWordsLimit = 250

/** How long (ms) a broker has to open its socket: it may still be binding. */
const attachLimit = 5000

/** Nothing of the daemon's own environment but where programs are and how the person's terminal speaks. */
const brokerEnvironment = (
  mark: string,
  dataMark: string,
  own: NodeJS.ProcessEnv = process.env,
): Record<string, string> => ({
  ...Object.fromEntries(kept.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]]))),
  SVC_BROKER_MARK: mark,
  SVC_DATA_MARK: dataMark,
})

/** One broker process: its channel, its last words, and the end of its whole tree. */
export class BrokerProcess {
  readonly pid: number
  readonly startedAt: string
  readonly mark: string
  /** Resolves when the process itself is gone and its last words were read; its tools may still live. */
  readonly exited: Promise<BrokerExitStatus>
  /** Nodes that it was given so far. */
  served = 0
  poolKey: string | undefined
  alive = true
  readonly #child: ChildProcess
  readonly #belongs: Belongs
  readonly #group: ProcessGroup
  readonly #clock: Clock
  #tail = ''

  /** @throws Error when no process could be started. */
  constructor(settings: BrokerProcessSettings) {
    this.mark = settings.mark
    this.#clock = settings.clock
    this.startedAt = isoTime(settings.clock.now())
    this.#child = fork(settings.program, [], {
      cwd: '/',
      env: brokerEnvironment(settings.mark, settings.dataMark),
      ...program,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.exited = this.#watch()
    if (this.#child.pid === undefined) throw new Error('The system could not start another process for a broker')
    this.pid = this.#child.pid
    this.#group = ProcessGroup.around(this.pid)
    const marked = carries('SVC_BROKER_MARK', settings.mark)
    const born = startOf(this.pid)
    // What is older than the broker isn't of its tree: its environment, which is dear to read, needn't be.
    this.#belongs = (row) => row.startTicks >= born && marked(row)
    this.#child.on('message', (message) => {
      if (isReleased(message)) settings.onReleased(message)
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#tail = (this.#tail + text).slice(-tailBytes)
      settings.log.append(this.pid, text)
    })
  }

  /** The last lines of its standard error, at most 4,000 characters. */
  get detail(): string | null {
    return this.#tail.trim() || null
  }

  serve(message: Serve, poolKey: string): void {
    this.served += 1
    this.poolKey = poolKey
    this.#tail = ''
    const { processes, memoryBytes } = message.plan.limits
    this.#group.bound({ processes: processes + ownThreads, memoryBytes })
    // A channel that broke means that the process is going: its exit says so.
    void this.#group.joined.then(() => this.#child.send(message, () => undefined))
  }

  /**
   * Has it open its socket for viewers, once it serves the node.
   *
   * @throws Error when it can't, or has not after a while
   */
  attach(message: Attach): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (fault?: string): void => {
        callOff()
        this.#child.off('message', hear)
        if (fault === undefined) resolve()
        else reject(new Error(fault))
      }
      const hear = (said: unknown): void => {
        if (isAttached(said) && said.path === message.path) finish(said.fault)
      }
      const callOff = this.#clock.after(attachLimit, () => finish('it did not answer in time'))
      this.#child.on('message', hear)
      void this.exited.then(() => finish('it is gone'))
      void this.#group.joined.then(() => this.#child.send(message, (error) => error && finish(error.message)))
    })
  }

  /** Whether anything besides the broker itself lives in its tree. */
  hasTools(): boolean {
    return this.#group.holdsMoreThan(this.pid) || treeOf(this.#belongs).some((row) => row.pid !== this.pid)
  }

  /** Ends the broker and everything below it; resolves when all of it is gone. */
  async end(graceMs: number): Promise<void> {
    await endTree(this.#belongs, graceMs)
    await this.#group.end()
    await this.exited
  }

  #watch(): Promise<BrokerExitStatus> {
    return new Promise((resolve) => {
      const finish = (code: number | null, signal: string | null): void => {
        this.alive = false
        resolve({ code, signal })
      }
      this.#child.once('exit', (code, signal) => {
        this.alive = false
        const callOff = this.#clock.after(lastWordsLimit, () => finish(code, signal))
        this.#child.once('close', () => {
          callOff()
          finish(code, signal)
        })
      })
      this.#child.on('error', (error) => {
        this.#tail = `${this.#tail}${error.message}\n`.slice(-tailBytes)
        if (this.#child.pid === undefined) finish(null, null)
      })
    })
  }
}
