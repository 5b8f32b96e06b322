import { UsageError } from './failure.js'

export const now = (): number => Date.now()

/** Milliseconds of a clock that never jumps. */
export const monotonic = (): number => performance.now()

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** `5s`, `3m`, `2h`, `4d`: how long ago a time of the daemon is. */
export const ago = (time: string): string => roughly(now() - Date.parse(time))

/** The same of a time that is still to come. */
export const ahead = (time: string): string => roughly(Date.parse(time) - now())

const roughly = (ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** A time of the daemon: as it is, or so long from now (`30m`, `2h`, `3d`). @throws UsageError */
export const instantOf = (text: string): string => {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const ms = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit as 's'] ?? 0
  const at = count === undefined ? Date.parse(text) : now() + Number(count) * ms
  if (Number.isNaN(at))
    throw new UsageError(`${text} is no time`, 'say 30m, 2h, 3d, or a time like 2030-01-31T12:00:00Z')
  return new Date(at).toISOString()
}

/** Asks until the answer is something, at most `ms` long; undefined when it never was. */
export const until = async <T>(
  ms: number,
  ask: () => T | undefined | Promise<T | undefined>,
): Promise<T | undefined> => {
  const end = monotonic() + ms
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (monotonic() > end) return undefined
    await pause(25)
  }
}

/** Calls back again and again, every so many ms; answers a function that ends it. Keeps no process alive. */
export const every = (ms: number, callback: () => void): (() => void) => {
  const timer = setInterval(callback, ms)
  timer.unref()
  return () => clearInterval(timer)
}

/** The present time as the daemon takes it. */
export const present = (): string => new Date(now()).toISOString()

const seconds = { s: 1, m: 60, h: 3600, d: 86_400 } as const

/** A time as the daemon takes it: one as it is, or so long ago (`10m`, `2h`); undefined for anything else. */
export const timeOf = (text: string): string | undefined => {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const at = count ? now() - Number(count) * seconds[unit as keyof typeof seconds] * 1000 : Date.parse(text)
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}

/** Hours, minutes and seconds of a time of the daemon, where this command runs. */
export const clockTime = (time: string): string => new Date(time).toLocaleTimeString('en-GB')

/** `250ms`, `1.2s`, `3m 5s`, `26h 3m`: how long something took. */
export const lasting = (ms: number): string => {
  if (ms < 1000) return `${Math.round(ms)}ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)}s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)}m ${Math.floor((ms % 60_000) / 1000)}s`
  return `${Math.floor(ms / 3_600_000)}h ${Math.floor((ms % 3_600_000) / 60_000)}m`
}
