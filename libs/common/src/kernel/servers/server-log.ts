/** What the launcher needs of a logger; a pino logger is one. */
export interface ServerLog {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export const silentLog: ServerLog = { debug() {}, info() {}, warn() {}, error() {} }
