import type { LoggerService } from '@nestjs/common'
import type { Logger } from './log.js'

/** Nest's own messages in our log. What it tells about modules and routes at boot is debug to us. */
export const nestLog = (log: Logger): LoggerService => ({
  verbose: (message: unknown, ...rest: unknown[]) => log.trace(detailOf(rest), String(message)),
  debug: (message: unknown, ...rest: unknown[]) => log.debug(detailOf(rest), String(message)),
  log: (message: unknown, ...rest: unknown[]) => log.debug(detailOf(rest), String(message)),
  warn: (message: unknown, ...rest: unknown[]) => log.warn(detailOf(rest), String(message)),
  error: (message: unknown, ...rest: unknown[]) => report(log, 'error', message, rest),
  fatal: (message: unknown, ...rest: unknown[]) => report(log, 'fatal', message, rest),
})

const report = (log: Logger, level: 'error' | 'fatal', message: unknown, rest: unknown[]): void => {
  if (message instanceof Error) log[level]({ err: message, ...detailOf(rest) }, message.message)
  else log[level](detailOf(rest), String(message))
}

/** Nest passes the name of the class that speaks as the last argument, and a stack before it. */
const detailOf = (rest: unknown[]): object => ({
  source: rest.at(-1),
  ...(rest.length > 1 && { detail: rest.slice(0, -1) }),
})
