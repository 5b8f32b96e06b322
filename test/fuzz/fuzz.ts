import type { Operation } from '#common/contract/define.js'
import { routes } from '#common/contract/index.js'
import { Random } from '../chaos/random.js'
import { TestDaemon } from '../support/daemon.js'
import { malformations } from './malformations.js'
import { sample } from './sample.js'
import { Secrets } from './secrets.js'
import { bytesOf, type Shot } from './shot.js'
import { Targets } from './targets.js'
import { verdictOf } from './verdict.js'
import { exchange, isHeld, Lane, type Silence, type WireAnswer } from './wire.js'

export interface FuzzOptions {
  seed: number
  /** Requests, to routes by chance. */
  count?: number
  /** Or so many to each route, most of them without an effect even where they are sound. */
  perRoute?: number
  /** Only routes whose name begins so; several with commas between them. */
  only?: string
  /** The first request, to repeat one of a longer run. Default 1. */
  from?: number
  say: (line: string) => void
}

export interface FuzzResult {
  requests: number
  violations: string[]
  summary: string
}

/** Requests under way at a time. */
const atOnce = 6
/** After so many requests there are new nodes to speak to, and a look at the daemon and its logs. */
const renewEvery = 500
const renewEveryOfMany = 5000

const limitless = { SVC_RATE_LIMIT: '0', SVC_AUTH_FAILURE_LIMIT: '0', SVC_LOG_LEVEL: 'trace' }

/** Which request is sent at a place of the row: the seed and the place decide. */
class Row {
  readonly #routes: readonly Operation[]
  readonly length: number

  constructor(private readonly options: FuzzOptions) {
    const { count = 10_000, perRoute, only = '', from = 1 } = options
    this.#routes = routes.filter(({ name }) => only.split(',').some((start) => name.startsWith(start)))
    if (!this.#routes.length) throw new Error(`no route begins with ${only}`)
    this.length = perRoute === undefined || options.count ? count : perRoute * this.#routes.length - from + 1
  }

  get sparing(): boolean {
    return this.options.perRoute !== undefined
  }

  shot(at: number, targets: Targets): { shot: Shot; ofOwner: boolean } {
    const random = new Random(this.options.seed, at)
    const entry = this.sparing ? (this.#routes[at % this.#routes.length] as Operation) : random.pick(this.#routes)
    return shotAt(entry, random, targets, this.sparing)
  }
}

/** Routes that answer a new secret. */
const minting = /^tokens\.(create|rotate)$|^customObjects\.(register|rotate|update)$/

/** What would be held for a minute. */
const short: Readonly<Record<string, object>> = { 'nodes.wait': { timeout: 1 } }

/** A request that fits the contract, then one thing wrong with it. */
const shotAt = (entry: Operation, random: Random, targets: Targets, sparing: boolean) => {
  const { hints, token, ofOwner, blunt } = targets.for(entry, random, sparing)
  const body = { ...(sample(entry.body, random, hints) as object), ...short[entry.name], ...blunt }
  const query = Object.entries(sample(entry.query, random, hints) as object)
  const path = (entry.path as string).replace(/\{(\w+)\}/g, (_, name: string) => String(hints[name]))
  const sound: Shot = {
    entry,
    what: '',
    method: entry.method as string,
    target: query.length ? `${path}?${new URLSearchParams(query)}` : path,
    headers: [
      ['Host', 'localhost'],
      ['Authorization', `Bearer ${token}`],
      ...(entry.body ? [['Content-Type', 'application/json'] as const] : []),
    ],
    ...(entry.body && { body: Buffer.from(JSON.stringify(body)) }),
    spent: targets.spent,
    others: targets.others,
  }
  const wrong = random.pick(malformations)
  return { shot: { ...wrong.apply(sound, random, body), what: wrong.name }, ofOwner }
}

const described = ({ entry, what, target, body }: Shot): string =>
  `${entry.name} with ${what}: ${target.slice(0, 200)} ${Buffer.from(body ?? '')
    .subarray(0, 400)
    .toString('utf8')}`

/** One daemon under fire. */
class Range {
  readonly violations: string[] = []
  readonly #statuses = new Map<number, number>()
  readonly #lanes = new Map<number, Lane[]>()
  readonly #processes: string

  constructor(
    private readonly daemon: TestDaemon,
    private readonly secrets: Secrets,
    private readonly targets: Targets,
    private readonly row: Row,
    private readonly options: FuzzOptions,
  ) {
    for (const port of [this.#portOf(daemon.baseUrl), this.#portOf(daemon.appUrl)]) {
      this.#lanes.set(
        port,
        Array.from({ length: atOnce }, () => new Lane(port)),
      )
    }
    this.#processes = this.#running()
  }

  get spread(): string {
    const sorted = [...this.#statuses].sort(([a], [b]) => a - b)
    return sorted.map(([status, times]) => `${times}×${status}`).join(', ')
  }

  async fire(at: number, lane: number): Promise<void> {
    const { shot, ofOwner } = this.row.shot(at, this.targets)
    const answer = await this.#send(shot, lane)
    const status = typeof answer === 'string' ? 0 : answer.status
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1)
    const fault = verdictOf(shot, answer, ofOwner) ?? this.#told(shot, answer)
    if (!fault) return
    this.violations.push(fault)
    const { seed, perRoute, only } = this.options
    const rest = `${perRoute ? ` --per-route ${perRoute}` : ''}${only ? ` --only ${only}` : ''}`
    this.options.say(
      `✗ request ${at}, ${described(shot)}\n    ${fault}\n    again: npm run fuzz -- --seed ${seed} --from ${at} --count 1${rest}`,
    )
  }

  /** What a batch has done to the daemon besides its answers. */
  async look(): Promise<void> {
    const health = await fetch(`${this.daemon.baseUrl}/healthz`, { signal: AbortSignal.timeout(10_000) })
    if (!health.ok) this.violations.push(`after a batch /healthz answers ${health.status}`)
    if (this.#running() !== this.#processes) this.violations.push('a process of the daemon has ended')
    this.violations.push(...(await this.secrets.inLogs()))
  }

  close(): void {
    for (const lane of [...this.#lanes.values()].flat()) lane.close()
  }

  #send(shot: Shot, lane: number): Promise<WireAnswer | Silence> {
    const isOwners = shot.entry.listeners?.includes('owner')
    const port = this.#portOf(isOwners ? this.daemon.baseUrl : this.daemon.appUrl)
    if (shot.alone || shot.ends || isHeld(shot.entry)) return exchange(port, bytesOf(shot), shot)
    const lanes = this.#lanes.get(port) as Lane[]
    return (lanes[lane] as Lane).exchange(bytesOf(shot))
  }

  #told({ entry }: Shot, answer: WireAnswer | Silence): string | undefined {
    if (typeof answer === 'string') return undefined
    const minted = answer.status < 300 && minting.test(entry.name)
    const head = [...answer.headers].join('\n')
    const secret = this.secrets.in(`${head}\n${answer.body}`, minted)
    return secret && `an answer that holds the secret ${secret}`
  }

  #portOf(url: string): number {
    return Number(new URL(url).port)
  }

  #running(): string {
    return (['daemon', 'host', 'nats', 'redis', 'postgres'] as const)
      .map((name) => this.daemon.processes.find(name)?.pid)
      .join()
  }
}

/** Request after request against one daemon, sound ones among malformed ones; the seed decides them all. */
export const runFuzz = async (options: FuzzOptions): Promise<FuzzResult> => {
  const { seed, from = 1, say } = options
  const row = new Row(options)
  const every = row.sparing ? renewEveryOfMany : renewEvery
  const daemon = await TestDaemon.start({ env: limitless })
  try {
    const secrets = new Secrets(daemon)
    const targets = await Targets.on(daemon, secrets)
    const range = new Range(daemon, secrets, targets, row, options)
    const began = performance.now()
    const end = from + row.length
    for (let at = from; at < end; at += every) {
      await targets.renew()
      const last = Math.min(at + every, end)
      let next = at
      const stream = async (lane: number): Promise<void> => {
        while (next < last) {
          next += 1
          await range.fire(next - 1, lane)
        }
      }
      await Promise.all(Array.from({ length: atOnce }, (_, lane) => stream(lane)))
      await range.look()
      if (row.sparing) say(`${last - from} of ${row.length}, ${Math.round((last - from) / seconds(began))}/s`)
    }
    range.close()
    const violations = [...range.violations, ...(await targets.complaints())]
    const rate = Math.round(row.length / seconds(began))
    const summary = `fuzz: seed ${seed}, ${row.length} requests in ${seconds(began).toFixed(1)} s, ${rate}/s (${range.spread}), ${violations.length} violations`
    return { requests: row.length, violations, summary }
  } finally {
    await daemon.stop()
  }
}

const seconds = (began: number): number => (performance.now() - began) / 1000
