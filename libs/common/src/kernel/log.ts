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

/** Whatever the field is called: our tokens, and passwords in the addresses of servers. */
const secretTexts: readonly (readonly [RegExp, string])[] = [
  [/\bsvc_(?:own|app|run|node|pub|rt)_[0-9a-z]{1,64}_[0-9A-Za-z]{49}/g, '[secret]'],
  [/(:\/\/[^\s/:@"]*:)[^\s/@"]+@/g, '$1[secret]@'],
  [/([?&]password=)[^\s&"]+/g, '$1[secret]'],
]

const withoutSecrets = (line: string): string =>
  secretTexts.reduce((text, [pattern, shown]) => text.replace(pattern, shown), line)

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
      hooks: { streamWrite: withoutSecrets },
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
