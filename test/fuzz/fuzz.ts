import { routes } from '#common/contract/index.js'
import { Random } from '../chaos/random.js'
import { TestDaemon } from '../support/daemon.js'
import { malformations } from './malformations.js'
import { sample } from './sample.js'
import { bytesOf, type Shot } from './shot.js'
import { Targets } from './targets.js'
import { verdictOf } from './verdict.js'
import { exchange } from './wire.js'

export interface FuzzOptions {
  seed: number
  /** Requests. */
  count: number
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
const atOnce = 4
/** After so many requests there are new nodes to speak to. */
const renewEvery = 200

const ofOwnersListener = routes.filter(({ listeners }) => listeners?.some((listener) => listener === 'owner'))

/** A request that fits the contract, then one thing wrong with it. */
const shotOf = (random: Random, targets: Targets): { shot: Shot; ofOwner: boolean } => {
  const entry = random.pick(ofOwnersListener)
  const { hints, token, ofOwner } = targets.for(entry, random)
  const body = sample(entry.body, random, hints)
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
  }
  const wrong = random.pick(malformations)
  return { shot: { ...wrong.apply(sound, random, body), what: wrong.name }, ofOwner }
}

const described = ({ entry, what, target, body }: Shot): string =>
  `${entry.name} with ${what}: ${target.slice(0, 200)} ${Buffer.from(body ?? '')
    .subarray(0, 400)
    .toString('utf8')}`

/** Request after request against one daemon, sound ones among malformed ones; the seed decides them all. */
export const runFuzz = async ({ seed, count, from = 1, say }: FuzzOptions): Promise<FuzzResult> => {
  const began = performance.now()
  const violations: string[] = []
  const statuses = new Map<number, number>()
  const daemon = await TestDaemon.start()
  try {
    const port = Number(new URL(daemon.baseUrl).port)
    const targets = await Targets.on(daemon)
    const fire = async (at: number): Promise<void> => {
      const { shot, ofOwner } = shotOf(new Random(seed, at), targets)
      const answer = await exchange(port, bytesOf(shot), shot.ends ?? false)
      const status = typeof answer === 'string' ? 0 : answer.status
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      const fault = verdictOf(shot, answer, ofOwner)
      if (!fault) return
      violations.push(fault)
      say(
        `✗ request ${at}, ${described(shot)}\n    ${fault}\n    again: npm run fuzz -- --seed ${seed} --from ${at} --count 1`,
      )
    }
    for (let at = from; at < from + count; at += renewEvery) {
      await targets.renew()
      const last = Math.min(at + renewEvery, from + count)
      let next = at
      const stream = async (): Promise<void> => {
        while (next < last) {
          next += 1
          await fire(next - 1)
        }
      }
      await Promise.all(Array.from({ length: atOnce }, stream))
    }
    violations.push(...(await targets.complaints()))
  } finally {
    await daemon.stop()
  }
  const spread = [...statuses].sort(([a], [b]) => a - b).map(([status, times]) => `${times}×${status}`)
  const took = ((performance.now() - began) / 1000).toFixed(1)
  const summary = `fuzz: seed ${seed}, ${count} requests in ${took} s (${spread.join(', ')}), ${violations.length} violations`
  return { requests: count, violations, summary }
}
