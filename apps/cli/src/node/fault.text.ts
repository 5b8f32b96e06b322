import type { Node } from '#sdk/index.js'

type Fault = NonNullable<Node['fault']>

const holds: Readonly<Record<NonNullable<Fault['held_for']>, string>> = {
  provider: 'held until its provider answers',
  credential: 'held until a working credential is installed (`svc model add`)',
  grant: 'held until its app is granted again what it runs on (`svc app grant`)',
}

/** What a node's fault is, how long it lasts, and what happens next. */
export const faultLine = ({ kind, message }: Fault): string => `${kind}: ${message}`

/** One word for a line of a list. */
export const faultWord = (kind: string): string => (kind === 'other' ? 'fault' : kind)

/** When a node with a fault is tried again; null when that is not waited for. */
export const retryLine = ({ held_for, retry_at, tries, since }: Fault): string | null => {
  if (held_for === undefined && retry_at === undefined) return null
  const hold = held_for && holds[held_for]
  const latest = retry_at && (hold ? `tried at ${retry_at} in any case` : `at ${retry_at}`)
  const so = tries === undefined ? '' : ` (failed ${tries === 1 ? 'once' : `${tries} times`} since ${since})`
  return [hold, latest].filter(Boolean).join('; ') + so
}
