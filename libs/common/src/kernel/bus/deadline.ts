import type { Clock } from '../clock.js'

/** Timers above this fire at once instead. */
const longestTimer = 2 ** 31 - 1

/** Calls back at the deadline (epoch ms), if there is one; answers how to call it off. */
export const timerFor = (clock: Clock, deadline: number | undefined, callback: () => void): (() => void) => {
  if (deadline === undefined) return () => undefined
  return clock.after(Math.min(Math.max(0, deadline - clock.now()), longestTimer), callback)
}
