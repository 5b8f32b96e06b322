import { it } from '@jest/globals'
import { contract } from '#common/contract/index.js'

export interface Until {
  /** The operation with which the rule becomes one of this daemon. */
  readonly operation: string
  /** What it waits for, and in which part of the work that comes. */
  readonly why: string
}

/**
 * A rule of the contract about something that isn't there yet: reported as left out, with its reason, and never as passed.
 * On the day that the operation is there, it fails until it is written.
 */
export const notApplicable = (rule: string, { operation, why }: Until): void => {
  const name = `${rule} [not yet applicable: ${why}]`
  const write = (): never => {
    throw new Error(`${operation} is there now: write this test`)
  }
  if (operation in contract) it(name, write)
  else it.todo(name)
}
