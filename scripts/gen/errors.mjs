// The error catalogue as a reference for people, and as data for the SDK.
import { header } from './names.mjs'

export function errorReference({ errorKinds, errorCodes, factsOf }) {
  const kinds = Object.entries(errorKinds).map(
    ([kind, { status, retryable, exit }]) => `| ${kind} | ${status} | ${yes(retryable)} | ${exit} |`,
  )
  const codes = Object.keys(errorCodes).map((code) => {
    const { kind, title, remedy, status, retryable } = factsOf(code)
    return `| \`${code}\` | ${kind} | ${status} | ${yes(retryable)} | ${title}. | ${remedy} |`
  })
  return `<!-- Made from libs/common/src/contract/errors.ts by \`npm run gen\`. Do not edit. -->

# Errors

Every error answers \`application/problem+json\` (RFC 9457): \`type\`, \`title\`, \`status\`, \`detail\`, \`code\`, \`request_id\`,
\`retryable\`, \`errors\` (\`pointer\` and \`message\` of each field at fault) and the fields that the remedy names. Compare
\`code\`; the texts may change.

## Kinds

The kind decides the status, whether trying again can help, and the exit code of \`svc\`.

| Kind | Status | Retry helps | Exit code |
|---|---|---|---|
${kinds.join('\n')}

## Codes

| Code | Kind | Status | Retry helps | Meaning | What to do |
|---|---|---|---|---|---|
${codes.join('\n')}
`
}

export function sdkErrorCatalogue({ errorKinds, errorCodes, factsOf }) {
  const kinds = Object.entries(errorKinds).map(([kind, { status }]) => `  ${kind}: ${status},\n`)
  const codes = Object.keys(errorCodes).map((code) => {
    const { kind, retryable, remedy } = factsOf(code)
    return `  ${code}: { kind: '${kind}', retryable: ${retryable}, remedy: ${JSON.stringify(remedy)} },\n`
  })
  return `${header}/** Kinds of errors, each with its HTTP status. */
export const errorKinds = {
${kinds.join('')}} as const

export type ErrorKind = keyof typeof errorKinds

export interface CodeFacts {
  readonly kind: ErrorKind
  readonly retryable: boolean
  /** What the caller can do about it. */
  readonly remedy: string
}

/** Every code that the daemon answers. */
export const errorCodes = {
${codes.join('')}} as const satisfies Record<string, CodeFacts>

export type ErrorCode = keyof typeof errorCodes
`
}

/** Exit codes of the command line by kind of error. */
export function exitCodes({ errorKinds }) {
  const rows = Object.entries(errorKinds).map(([kind, { exit }]) => `  ${kind}: ${exit},\n`)
  return `${header}/** Exit code of the command by kind of the daemon's error. */
export const exitCodes = {
${rows.join('')}} as const
`
}

const yes = (value) => (value ? 'yes' : 'no')
