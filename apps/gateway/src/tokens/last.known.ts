import type { Clock } from '#common/kernel/clock.js'

/** How long (ms) one who has an earlier answer waits for the present one. */
const patience = 1000

/**
 * What is asked; or, when that takes longer than `patience`, what was known before: a database that hangs is away as one
 * that refuses is, and keeps nobody waiting who needs nothing else of it.
 *
 * @param known asked for at that moment; undefined when nothing may be believed, and the answer is waited for after all.
 */
export const orLastKnown = async <T>(
  clock: Clock,
  asked: Promise<T>,
  known: () => Exclude<T, undefined> | undefined,
): Promise<T> => {
  const waited = Promise.withResolvers<undefined>()
  const callOff = clock.after(patience, () => waited.resolve(undefined))
  try {
    const answer = await Promise.race([asked.then((value) => ({ value })), waited.promise])
    return answer ? answer.value : (known() ?? (await asked))
  } finally {
    callOff()
  }
}
