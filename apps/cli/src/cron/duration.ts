import { UsageError } from '../failure.js'

const form = /^(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?$/

/** Seconds of `900`, `90s`, `15m`, `1h30m`, `2d`. @throws UsageError */
export const secondsOf = (text: string): number => {
  if (/^\d{1,10}$/.test(text)) return Number(text)
  const parts = text === '' ? null : form.exec(text)
  if (!parts)
    throw new UsageError(`${text || 'an empty text'} is no length of time`, 'say it like 90s, 15m, 1h30m or 2d')
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = parts.slice(1).map((part) => Number(part ?? 0))
  return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
}

/** `90s`, `15m`, `1h30m`, `2d`: what `secondsOf` reads as so many seconds. */
export const durationText = (seconds: number): string => {
  const units = [
    ['d', Math.floor(seconds / 86_400)],
    ['h', Math.floor(seconds / 3600) % 24],
    ['m', Math.floor(seconds / 60) % 60],
    ['s', seconds % 60],
  ] as const
  return units.flatMap(([unit, count]) => (count ? [`${count}${unit}`] : [])).join('') || '0s'
}
