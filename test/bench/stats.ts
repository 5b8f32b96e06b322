/** A figure over several rounds. */
export interface Spread {
  readonly min: number
  readonly median: number
  readonly max: number
}

/** One round of one measurement. Latencies in ms, rate in operations a second. */
export interface Round {
  readonly p50: number
  readonly p99: number
  readonly rate: number
}

export const quantile = (values: readonly number[], at: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(at * sorted.length))] ?? Number.NaN
}

export const spreadOf = (values: readonly number[]): Spread => ({
  min: Math.min(...values),
  median: quantile(values, 0.5),
  max: Math.max(...values),
})

/** @param elapsed ms that all of them took together */
export const roundOf = (latencies: readonly number[], elapsed: number): Round => ({
  p50: quantile(latencies, 0.5),
  p99: quantile(latencies, 0.99),
  rate: (latencies.length * 1000) / elapsed,
})

/** Runs `work` at most `width` at a time until `count` have run; answers the round of their latencies. */
export const measure = async (count: number, width: number, work: () => Promise<unknown>): Promise<Round> => {
  const latencies: number[] = []
  let left = count
  const began = performance.now()
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const at = performance.now()
      await work()
      latencies.push(performance.now() - at)
    }
  }
  await Promise.all(Array.from({ length: width }, worker))
  return roundOf(latencies, performance.now() - began)
}
