import { createHash } from 'node:crypto'

const bytes = 6

/** Milliseconds from 0 to `jitterS` seconds, evenly spread over crons and slots, and always the same for the same slot. */
export const jitterOf = (cronId: string, slot: number, jitterS: number): number => {
  if (jitterS === 0) return 0
  const hash = createHash('sha256').update(`${cronId}:${slot}`).digest().readUIntBE(0, bytes)
  return Math.floor((hash / 2 ** (8 * bytes)) * (jitterS * 1000 + 1))
}
