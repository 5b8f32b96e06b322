import type { SvcError } from '#sdk/index.js'
import { exitCodes } from './generated/exit-codes.js'
import type { Shell } from './shell.js'

/** A call that can't be understood: exit code 2, with what to do instead. */
export class UsageError extends Error {
  readonly remedy: string | undefined

  constructor(message: string, remedy?: string) {
    super(message)
    this.remedy = remedy
  }
}

/** The caller is not one who may do this, which is known before the daemon is asked: exit code 6. */
export class DeniedError extends Error {
  readonly code: string
  readonly remedy: string | undefined
  readonly fields: Readonly<Record<string, unknown>>

  constructor(code: string, message: string, remedy?: string, fields: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.code = code
    this.remedy = remedy
    this.fields = fields
  }
}

/** The command did its part, and what it asked for went wrong: exit code 1. */
export class CommandError extends Error {
  readonly remedy: string | undefined

  constructor(message: string, remedy?: string) {
    super(message)
    this.remedy = remedy
  }
}

/** Exit codes of failures that the client itself notices. */
const clientExitCodes = { connection: 5, timeout: 5, response: 5, result: 1 } as const
const codes: Readonly<Record<string, number>> = { ...exitCodes, ...clientExitCodes }

const isDaemonError = (error: unknown): error is SvcError =>
  error instanceof Error && 'code' in error && 'kind' in error && 'retryable' in error

/** Says on standard error what went wrong and what to do next; answers the exit code. */
export const report = (error: unknown, shell: Shell, asJson: boolean): number => {
  const failure = describe(error)
  if (asJson) {
    const { code, message, remedy, requestId, fields } = failure
    process.stderr.write(`${JSON.stringify({ code, detail: message, remedy, request_id: requestId, ...fields })}\n`)
    return failure.exit
  }
  const { out } = shell
  out.note(`${out.paintNote('red', 'error:')} ${failure.message}${failure.code ? ` (${failure.code})` : ''}`)
  for (const { pointer, message } of failure.faults) out.note(`  ${pointer || '/'}: ${message}`)
  for (const line of namedIn(failure.fields ?? {})) out.note(`  ${line}`)
  if (failure.remedy) out.note(`  ${out.paintNote('bold', 'what to do:')} ${failure.remedy}`)
  if (failure.requestId) out.note(`  request id: ${failure.requestId}`)
  return failure.exit
}

interface Failure {
  readonly exit: number
  readonly message: string
  readonly code?: string
  readonly remedy?: string | undefined
  readonly requestId?: string | undefined
  readonly faults: readonly { readonly pointer: string; readonly message: string }[]
  readonly fields?: Readonly<Record<string, unknown>>
}

const describe = (error: unknown): Failure => {
  if (isDaemonError(error)) {
    const { code, message, requestId, fields } = error
    const remedy = error.kind === 'connection' ? remedyOf(error) : (ownRemedy(fields) ?? error.remedy)
    return { exit: codes[error.kind] ?? 1, message, code, remedy, requestId, faults: error.errors, fields }
  }
  if (error instanceof DeniedError) {
    const { code, message, remedy, fields } = error
    return { exit: exitCodes.forbidden, message, code, remedy, faults: [], fields }
  }
  if (error instanceof UsageError) return { exit: 2, message: error.message, remedy: error.remedy, faults: [] }
  if (error instanceof CommandError) return { exit: 1, message: error.message, remedy: error.remedy, faults: [] }
  if (error instanceof TypeError) {
    return { exit: 2, message: error.message, remedy: whereIdsStand(error.message), faults: [] }
  }
  const { code, message } = error as NodeJS.ErrnoException
  return { exit: 1, message, ...(code && { code }), faults: [] }
}

/** What lists the identifiers of a kind, when one was malformed. */
const whereIdsStand = (message: string): string | undefined => {
  if (!/identifier/.test(message)) return undefined
  return / \/v1\/crons\//.test(message)
    ? '`svc cron list` shows the ids of schedules'
    : '`svc node list` shows the ids of nodes'
}

/** Some codes name one by one what would break, or what there is instead. */
const namedIn = ({ differences, declared }: Readonly<Record<string, unknown>>): string[] => [
  ...(Array.isArray(differences)
    ? differences.map(({ event, pointer, message }) => `${event}${pointer && ` ${pointer}`}: ${message}`)
    : []),
  ...(Array.isArray(declared) ? [declared.length ? `it declares ${declared.join(', ')}` : 'it declares no event'] : []),
]

/** Some codes say in the answer itself what to do: it knows more than the catalogue. */
const ownRemedy = (fields: Readonly<Record<string, unknown>>): string | undefined =>
  typeof fields.remedy === 'string' ? fields.remedy : undefined

const remedyOf = (error: SvcError): string => {
  if (/CERT|SELF_SIGNED|ISSUER|SIGNATURE/.test(error.message)) {
    return 'its certificate is vouched for by nobody known here: one of your own is named by NODE_EXTRA_CA_CERTS=<file>'
  }
  const refused = /ECONNREFUSED|ENOENT/.test(error.message)
  return refused
    ? 'the daemon is not running there: start it with `svc sys up`, or say where it is with --base-url or SVC_BASE_URL'
    : 'check the address and the network; `svc sys doctor` looks at the daemon of this machine'
}
