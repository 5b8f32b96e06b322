import type { AuditLine } from './audit.line.js'

/** How soon a line of a new kind is written, and how long alike ones are gathered then: twice as long each time (ms). */
const firstWithin = 200
const gathered = 1000
const longestGathered = 60_000
/** Distinct lines that strangers, and those with a token, may cause at once, and how long until one more (ms). */
const distinct = 100
const refill = 1000

interface Fold {
  line: AuditLine
  count: number
  window: number
  due: number
}

/** Lets `distinct` pass at once, and then one each `refill`. */
class Budget {
  #used = 0
  #since = 0

  take(now: number): boolean {
    this.#used = Math.max(0, this.#used - (now - this.#since) / refill)
    this.#since = now
    if (this.#used + 1 > distinct) return false
    this.#used += 1
    return true
  }
}

/** A flood that never asks for the same thing twice is told by who sends it and how it is refused. */
const coarse = (line: AuditLine): AuditLine => ({ ...line, operation: null, resource: null, remote: null })

const keyOf = ({ actor, operation, resource, decision, code, listener, remote }: AuditLine): string =>
  JSON.stringify([actor.kind, actor.principal, actor.token_id, operation, resource, decision, code, listener, remote])

/**
 * Folds lines that differ in their time alone, so that no flood fills the disk: the first of a kind is given out soon, those
 * that follow within a second as one line with their number, and so on with twice the time, up to a minute, while they come.
 */
export class LineFold {
  readonly #open = new Map<string, Fold>()
  readonly #budgets = { strangers: new Budget(), known: new Budget() }

  /** @param now monotonic ms */
  add(line: AuditLine, now: number): void {
    const key = keyOf(line)
    const fold = this.#open.get(key)
    if (fold) {
      count(fold, line)
      return
    }
    const budget = line.actor.kind === 'nobody' ? this.#budgets.strangers : this.#budgets.known
    if (budget.take(now)) this.#begin(key, line, now)
    else {
      const rough = coarse(line)
      const known = this.#open.get(keyOf(rough))
      if (known) count(known, rough)
      else this.#begin(keyOf(rough), rough, now)
    }
  }

  /** When something is to be given out, in monotonic ms; undefined while nothing is gathered. */
  get due(): number | undefined {
    let earliest: number | undefined
    for (const { due } of this.#open.values()) if (earliest === undefined || due < earliest) earliest = due
    return earliest
  }

  /** What is due now; `all` for everything that was gathered. */
  take(now: number, all = false): AuditLine[] {
    const lines: AuditLine[] = []
    for (const [key, fold] of this.#open) {
      if (!all && fold.due > now) continue
      if (fold.count === 0) {
        this.#open.delete(key)
        continue
      }
      lines.push({ ...fold.line, repeated: fold.count })
      fold.count = 0
      fold.window = fold.window < gathered ? gathered : Math.min(fold.window * 2, longestGathered)
      fold.due = now + fold.window
    }
    return lines
  }

  #begin(key: string, line: AuditLine, now: number): void {
    this.#open.set(key, { line, count: line.repeated, window: firstWithin, due: now + firstWithin })
  }
}

const count = (fold: Fold, line: AuditLine): void => {
  if (fold.count === 0) fold.line = line
  fold.count += line.repeated
}
