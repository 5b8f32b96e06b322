export type ServerMode = 'docker' | 'process'

export interface ServerAddresses {
  mode: ServerMode
  /** Of an account that may create databases and roles. */
  postgresUrl: string
  redisUrl: string
  /** One a Jest worker, with the accounts of `natsAccountsConfig`: what two suites say can't mix. */
  natsUrls: string[]
  stop?(): Promise<void>
}
