import { systemClock } from '#common/kernel/clock.js'
import { waitFor } from '#common/testing/wait-for.js'

/** Resolves at a moment in ms since the epoch. */
export const reached = async (moment: number): Promise<void> => {
  const left = moment - systemClock.now()
  await waitFor(() => systemClock.now() >= moment, { timeout: Math.max(0, left) + 5000, interval: 5, what: 'a moment' })
}
