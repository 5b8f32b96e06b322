/** What one look found. */
export interface Finding {
  readonly name: string
  /** `warn`: svc works, with less. */
  readonly state: 'ok' | 'warn' | 'fail'
  readonly detail: string
  readonly remedy?: string
}
