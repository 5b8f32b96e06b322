import { SvcError } from '#sdk/errors.js'
import { ToolError } from './tool.js'

/** What a model is told of a refused request: what was wrong, where, and what to do about it. */
export const refusalText = (error: SvcError, remedy = error.remedy): string => {
  const faults = error.errors.map(({ pointer, message }) => `\n${pointer || '/'}: ${message}`).join('')
  return `${error.code}: ${error.message}${remedy ? ` ${remedy}` : ''}${faults}`
}

/**
 * Does what a tool asks of the daemon; a refusal that has advice for an agent tells that, where the daemon's own remedy
 * speaks to people.
 *
 * @throws ToolError for a refusal with advice; whatever else was thrown
 */
export const advised = async <T>(
  advice: (error: SvcError) => string | undefined,
  work: () => Promise<T>,
): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    const told = error instanceof SvcError ? advice(error) : undefined
    if (told === undefined) throw error
    throw new ToolError(refusalText(error as SvcError, told))
  }
}
