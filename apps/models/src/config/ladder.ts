import { type ModelConfigDocument, type Strength, strengths } from '#common/contract/index.js'
import { defaultLadders } from './config.defaults.js'
import { splitRung } from './config.rules.js'

export interface Ladder {
  /** Rungs `provider/model` in the order to try; empty when nothing is configured. */
  readonly rungs: readonly string[]
  /** The strength whose ladder this is: another than the one asked for when that has none. */
  readonly strength: Strength | null
}

/**
 * The ladder of a strength. The owner's ladders count as a whole: as soon as one is configured the built-in ones are
 * out of use, so that no model is called that the owner didn't name. A missing strength falls back to the nearest one,
 * of two equally near to the stronger.
 */
export const ladderFor = (
  strength: Strength,
  document: ModelConfigDocument,
  hasCredential: (provider: string) => boolean,
): Ladder => {
  const own = Object.values(document.ladders).some((rungs) => rungs.length > 0)
  const rungsOf = (of: Strength): readonly string[] =>
    own ? (document.ladders[of] ?? []) : defaultLadders[of].filter((rung) => hasCredential(splitRung(rung).provider))
  const wanted = strengths.indexOf(strength)
  const byNearness = strengths
    .map((name, at) => ({ name, distance: Math.abs(at - wanted), at }))
    .sort((a, b) => a.distance - b.distance || b.at - a.at)
  const found = byNearness.find(({ name }) => rungsOf(name).length > 0)
  return found ? { rungs: rungsOf(found.name), strength: found.name } : { rungs: [], strength: null }
}
