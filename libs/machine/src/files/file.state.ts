import type { BigIntStats } from 'node:fs'

/** What is known of a file besides what it holds. */
export interface FileState {
  readonly size: number
  /** Milliseconds since the epoch, within the years 0 to 9999. */
  readonly mtimeMs: number
  /** Names this state of the file: another one after every change of what it holds or of its attributes. */
  readonly etag: string
}

const earliest = -62_167_219_200_000
const latest = 253_402_300_799_999

/** A file's time may be anything that somebody set it to: what no calendar of four digits holds is cut to it. */
export const millisecondsOf = (ns: bigint): number => Math.min(latest, Math.max(earliest, Number(ns / 1_000_000n)))

export const stateOf = ({ size, mtimeNs, ctimeNs, ino }: BigIntStats): FileState => ({
  size: Number(size),
  mtimeMs: millisecondsOf(mtimeNs),
  etag: [mtimeNs, size, ino, ctimeNs].map((number) => number.toString(36)).join('-'),
})
