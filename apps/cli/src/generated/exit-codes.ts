// Made from the contract by `npm run gen`. Do not edit.

/** Exit code of the command by kind of the daemon's error. */
export const exitCodes = {
  invalid: 1,
  unprocessable: 1,
  unauthenticated: 6,
  budget: 1,
  forbidden: 6,
  not_found: 3,
  conflict: 4,
  gone: 3,
  precondition: 4,
  too_large: 1,
  exhausted: 5,
  internal: 1,
  upstream: 5,
  unavailable: 5,
  deadline: 5,
  full: 5,
} as const
