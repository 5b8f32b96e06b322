/** A user of the bus, with what it may say and hear. */
export interface NatsAccount {
  name: string
  publish: string[]
  subscribe: string[]
}

export interface NatsConfig {
  host: string
  port: number
  /** Shown to clients, and in the server's own log. */
  serverName: string
  accounts: NatsAccount[]
  passwordOf(account: string): string
  /** Port of the server's own health answers; none unless given. */
  monitorPort?: number
}

/** The configuration of a NATS core server: one user a service with its own rights, or `svc` alone where none is named. */
export function natsConfigText(config: NatsConfig): string {
  const { accounts, passwordOf } = config
  const own = accounts.map(({ name: user, publish, subscribe }) => ({
    user,
    password: passwordOf(user),
    permissions: { publish: { allow: publish }, subscribe: { allow: subscribe } },
  }))
  const users = own.length > 0 ? own : [{ user: 'svc', password: passwordOf('svc') }]
  return [
    `host: "${config.host}"`,
    `port: ${config.port}`,
    `server_name: "${config.serverName}"`,
    ...(config.monitorPort === undefined ? [] : [`http: "127.0.0.1:${config.monitorPort}"`]),
    // Bytes. What is larger travels in pieces or not at all; a client that reads too slowly is cut off at max_pending.
    'max_payload: 8388608',
    'max_pending: 67108864',
    'ping_interval: "20s"',
    'write_deadline: "10s"',
    `authorization: ${JSON.stringify({ users, timeout: 5 })}`,
    '',
  ].join('\n')
}
