import { UsageError } from '../../failure.js'

/** What `--scopes` takes, as people write it. The whole grammar is `POST /v1/tokens`'s. */
export const connectScopes = [
  'svc:llm',
  'svc:act',
  'svc:schedule',
  'svc:memory:read:user',
  'svc:memory:read:app',
  'svc:memory:rw:app',
  'svc:files:read:user:<dir>',
  'svc:files:rw:user:<dir>',
] as const

const isAccepted = (text: string): boolean =>
  connectScopes.some((form) => (form.endsWith(':<dir>') ? text.startsWith(form.replace('<dir>', '/')) : text === form))

/** The list behind `--scopes`; an empty one permits nothing. @throws UsageError for anything but the eight forms */
export const scopesOf = (list: string): string[] => {
  const scopes = list
    .split(',')
    .map((scope) => scope.trim())
    .filter(Boolean)
  const others = scopes.filter((scope) => !isAccepted(scope))
  if (others.length > 0) {
    throw new UsageError(
      `--scopes does not take ${others.join(', ')}`,
      `it takes ${connectScopes.join(', ')}; for other scopes see \`svc request POST /v1/tokens\``,
    )
  }
  return scopes
}
