import { UsageError } from '../failure.js'

/** The zone of the machine that this command runs on; UTC where it knows of none. */
export const machineZone = (): string => {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  return timeZone === 'Etc/Unknown' ? 'UTC' : timeZone
}

const clocks = new Map<string, Intl.DateTimeFormat>()

/** @throws UsageError */
const clockOf = (zone: string): Intl.DateTimeFormat => {
  const known = clocks.get(zone)
  if (known) return known
  try {
    const made = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    clocks.set(zone, made)
    return made
  } catch {
    throw new UsageError(`there is no time zone ${zone}`, 'name one of the IANA database, like Europe/Berlin or UTC')
  }
}

/** What a clock of the zone shows at this moment, as if it were UTC (ms). */
const wallOf = (moment: number, zone: string): number => {
  const shown = Object.fromEntries(
    clockOf(zone)
      .formatToParts(moment)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown
  return Date.UTC(year, month - 1, day, hour, minute, second)
}

const form = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/i
const day = 86_400_000
const remedy = 'say 2h (from now), 2030-01-31T09:00, or with an offset 2030-01-31T09:00+01:00'

/**
 * The moment of `2030-01-31T09:00`, on a clock of the zone unless it says its offset; a day alone is its first moment.
 *
 * @throws UsageError for what is no time, and for one that the clocks of the zone skip or show twice
 */
export const zonedTime = (text: string, zone: string): Date => {
  const [, ...parts] = form.exec(text) ?? []
  const [year = 0, month = 0, date = 0, hour = 0, minute = 0, second = 0] = parts
    .slice(0, 6)
    .map((part) => Number(part ?? 0))
  const wall = Date.UTC(year, month - 1, date, hour, minute, second)
  const written = [year, month, date, hour, minute, second].map((part) => String(part).padStart(2, '0')).join(' ')
  if (!parts.length || new Date(wall).toISOString().replace(/[-T:]/g, ' ').slice(0, 19) !== written) {
    throw new UsageError(`${text} is no time`, remedy)
  }
  const offset = parts[6]
  return new Date(offset === undefined ? momentOn(wall, zone, text) : wall - offsetOf(offset))
}

const offsetOf = (text: string): number => {
  if (/z/i.test(text)) return 0
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(text) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}

/** The offsets of the day before and the day after are those that may hold at a moment. */
const momentOn = (wall: number, zone: string, text: string): number => {
  const offsets = new Set([-day, day].map((apart) => wallOf(wall + apart, zone) - (wall + apart)))
  const found = [...offsets].map((offset) => wall - offset).filter((moment) => wallOf(moment, zone) === wall)
  const [first, second] = found.sort((one, other) => one - other)
  if (first === undefined) {
    throw new UsageError(
      `${text} does not exist in ${zone}: the clocks are set forward over it`,
      'say a time before or after it',
    )
  }
  if (second !== undefined) {
    throw new UsageError(
      `${text} comes twice in ${zone}: the clocks are set back over it`,
      `say which by its offset: ${localTime(first, zone)} or ${localTime(second, zone)}`,
    )
  }
  return first
}

/** `2030-01-31T09:00:00+01:00`: a moment on a clock of the zone. @throws UsageError */
export const localTime = (moment: number | string, zone: string): string => {
  const at = Math.floor(new Date(moment).getTime() / 1000) * 1000
  const wall = wallOf(at, zone)
  const offset = Math.round((wall - at) / 60_000)
  const sign = offset < 0 ? '-' : '+'
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60].map((part) =>
    String(part).padStart(2, '0'),
  )
  return `${new Date(wall).toISOString().slice(0, 19)}${sign}${hours}:${minutes}`
}

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const

/** `Thu 2030-01-31 09:00:00 +01:00`: the same for a reader. @throws UsageError */
export const readableTime = (moment: number | string, zone: string): string => {
  const text = localTime(moment, zone)
  const weekday = weekdays[new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDay()]
  return `${weekday} ${text.slice(0, 10)} ${text.slice(11, 19)} ${text.slice(19)}`
}
