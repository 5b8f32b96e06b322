/** What a job's record and its events say of how it stands. */
export interface JobFacts {
  readonly status?: unknown
  readonly exit_code?: unknown
  readonly signal?: unknown
  readonly error?: unknown
}

/** How a job stands, in a few words. */
export const jobState = ({ status, exit_code, signal, error }: JobFacts): string => {
  if (status === 'running' && error) return 'running (its host is not heard)'
  if (status !== 'exited') return String(status)
  if (typeof exit_code === 'number') return `exited ${exit_code}`
  return signal ? `ended by ${signal}` : `not run${error ? `: ${error}` : ''}`
}
