const units = { W: 604_800, D: 86_400, H: 3600, M: 60, S: 1 } as const

/** Seconds of an ISO 8601 duration of weeks, days, hours, minutes and seconds, as the contract lets through. */
export const secondsOf = (duration: number | string): number => {
  if (typeof duration === 'number') return duration
  return [...duration.matchAll(/(\d+)([WDHMS])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * units[unit as keyof typeof units],
    0,
  )
}
