import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger } from 'pino'

/** Fields whose values never reach a log, at any depth that our records have. */
const secretFields = [
  'token',
  'authorization',
  'api_key',
  'access_token',
  'refresh_token',
  'password',
  'secret',
  'ciphertext',
]

const redacted = secretFields.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])

/**
 * A JSON logger for one service. Level by `SVC_LOG_LEVEL` (`info` unless given); to the standard output unless a
 * destination is given.
 */
export const createLogger = (
  service: string,
  level = process.env.SVC_LOG_LEVEL ?? 'info',
  destination: DestinationStream = pino.destination(1),
): Logger =>
  pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: redacted, censor: '[secret]' },
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
