import { cpus, loadavg, totalmem } from 'node:os'
import { spreadOf } from './stats.js'

/** How fast, and how evenly, this machine does the same fixed work: tells a slow run from a busy machine. */
export interface Spin {
  /** Ms of one piece of fixed work, at its fastest. */
  readonly best: number
  /** How much slower the slowest piece was than the fastest. */
  readonly worst: number
}

const pieces = 40

const spinOnce = (): number => {
  const began = performance.now()
  let sum = 0
  for (let at = 0; at < 4_000_000; at += 1) sum = (sum * 31 + at) | 0
  if (sum === 1) throw new Error('the sum of the spin is another')
  return performance.now() - began
}

export const spin = (): Spin => {
  const { min, max } = spreadOf(Array.from({ length: pieces }, spinOnce))
  return { best: min, worst: max / min }
}

export const machine = () => ({
  cores: cpus().length,
  model: cpus()[0]?.model ?? 'unknown',
  memory_gb: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  load: loadavg(),
})
