/**
 * The one catalogue of error codes. `code` is the API: a client compares codes, never texts.
 *
 * A code has one kind; the kind decides the HTTP status and whether trying again can help. `docs/errors.md` and the
 * SDK's error classes are made from this file.
 */

import { type CodeFacts, defineCodes, type ErrorKind, errorKinds } from './error-kinds.js'
import { objectErrorCodes } from './object-errors.js'

export { type ErrorKind, errorKinds }

export const errorCodes = defineCodes({
  malformed_request: {
    kind: 'invalid',
    title: 'The request could not be read',
    remedy: 'Send valid JSON with Content-Type application/json.',
  },
  validation_failed: {
    kind: 'unprocessable',
    title: 'The request does not fit the contract',
    remedy: 'Each entry of `errors` points at a field and says what it takes.',
  },
  not_a_file: {
    kind: 'unprocessable',
    title: 'This is not a regular file',
    remedy: 'Directories are listed; pipes, sockets and devices are neither read nor written.',
  },
  not_a_directory: {
    kind: 'unprocessable',
    title: 'This, or a part of the path, is not a directory',
    remedy: 'Files are read; only directories are listed, and hold other files.',
  },
  worktree_refused: {
    kind: 'unprocessable',
    title: 'No worktree can be made there',
    remedy: '`reason` says why; name a directory of a git repository, a base that exists and a branch that does not.',
  },
  idempotency_key_reused: {
    kind: 'unprocessable',
    title: 'The idempotency key belongs to another request',
    remedy: 'Use a fresh key for a different body; repeat a request with its own body only.',
  },
  address_unavailable: {
    kind: 'unprocessable',
    title: 'The daemon can not listen at this address',
    remedy: '`detail` says why; name a free port and an address of this machine, or settings for TLS.',
  },
  schedule_impossible: {
    kind: 'unprocessable',
    title: 'The schedule names no moment that ever comes',
    remedy: 'Name a date that exists (`0 0 31 2 *` never comes), between `start_at` and `end_at` if there are such.',
  },
  schedule_too_frequent: {
    kind: 'unprocessable',
    title: 'The schedule fires more often than once a minute',
    remedy: '`minimum_s` is the least distance in seconds; let one piece of work do more, or run it as a job.',
  },
  schedule_past: {
    kind: 'unprocessable',
    title: 'The moment lies in the past',
    remedy: 'Name a moment after `now`; what is to be done at once needs no schedule.',
  },
  timezone_unknown: {
    kind: 'unprocessable',
    title: 'There is no such time zone',
    remedy: 'Use a name of the IANA database, like `Europe/Berlin` or `UTC`.',
  },
  action_unavailable: {
    kind: 'unprocessable',
    title: 'This daemon does not have such an action yet',
    remedy: 'Take one of `available`.',
  },
  result_schema_mismatch: {
    kind: 'unprocessable',
    title: 'The result does not satisfy the schema that the node was created with',
    remedy: 'Submit a value that fits `result_schema`; `errors` names each difference.',
  },
  token_missing: {
    kind: 'unauthenticated',
    title: 'No bearer token was sent',
    remedy: 'Send `Authorization: Bearer <token>`; `svc sys connect` prints the base URL and a token.',
  },
  token_invalid: {
    kind: 'unauthenticated',
    title: 'The bearer token is not valid',
    remedy: 'Check for a truncated copy; `svc sys connect` prints a valid one.',
  },
  token_expired: {
    kind: 'unauthenticated',
    title: 'The bearer token has expired',
    remedy: 'Ask the owner of the daemon for a new token.',
  },
  token_revoked: {
    kind: 'unauthenticated',
    title: 'The bearer token was revoked',
    remedy: 'Ask the owner of the daemon for a new token.',
  },
  scope_missing: {
    kind: 'forbidden',
    title: 'The token lacks a scope',
    remedy: 'Use a token that holds the scope named in `scope`.',
  },
  scope_exceeds_ceiling: {
    kind: 'forbidden',
    title: 'The scopes asked for lie outside what the caller holds',
    remedy: 'Leave out the scopes named in `scopes`, or ask with a token that holds them.',
  },
  owner_required: {
    kind: 'forbidden',
    title: 'Only the owner may do this',
    remedy: "Use the owner's token (`svc sys connect`).",
  },
  node_token_required: {
    kind: 'forbidden',
    title: "Only the node's own token may do this",
    remedy: 'This route belongs to the process that hosts the node.',
  },
  app_token_required: {
    kind: 'forbidden',
    title: "Only an app's own token may do this",
    remedy: 'Use a token that `svc sys connect --app <app>` minted.',
  },
  publish_token_only: {
    kind: 'forbidden',
    title: 'A publish token publishes to its object and does nothing else',
    remedy: "Use the owner's token, or one that was minted for an app.",
  },
  grant_revoked: {
    kind: 'forbidden',
    title: 'The grant of the app was revoked',
    remedy: 'The owner gives it back with `svc app grant <app> <scopes>`; what runs for the app rests until then.',
  },
  listener_forbidden: {
    kind: 'forbidden',
    title: 'This route is not served on this listener',
    remedy: "Call the owner's listener, or use the routes of the application listener.",
  },
  host_forbidden: {
    kind: 'forbidden',
    title: 'The daemon is not called by this name',
    remedy:
      'Call it by its own address, or let the owner add the name: `svc request PATCH /v1/access \'{"hosts":["<name>"]}\'`.',
  },
  origin_forbidden: {
    kind: 'forbidden',
    title: 'Pages of this origin may not call here',
    remedy:
      'On the application listener the app names its origins (`svc app set <app> --origin <origin>`); on the owner’s the owner does (`svc sys connect --origin <origin>`).',
  },
  path_outside_scope: {
    kind: 'forbidden',
    title: 'The path lies outside what the caller may reach',
    remedy: 'Stay inside the working directory and the mounted directories.',
  },
  file_access_denied: {
    kind: 'forbidden',
    title: 'The system does not let this account touch the file',
    remedy:
      'Change its permissions, or let the daemon run as an account that may; what is not on a disk, like /proc, is for a command.',
  },
  sandbox_required: {
    kind: 'forbidden',
    title: 'This machine has no sandbox for what nodes run',
    remedy:
      'Install bubblewrap and allow user namespaces (`svc sys doctor` says what is missing), or let the owner consent to running without: `svc sys sandbox --consent`.',
  },
  not_found: {
    kind: 'not_found',
    title: 'There is no such resource',
    remedy: 'Check the identifier or the path; what belongs to somebody else answers alike.',
  },
  route_not_found: {
    kind: 'not_found',
    title: 'There is no such route',
    remedy: 'See /v1/openapi.json for the routes that this daemon serves.',
  },
  illegal_transition: {
    kind: 'conflict',
    title: 'The resource cannot do this in its present state',
    remedy: '`state` and `event` name what was refused; read the resource and choose what its state allows.',
  },
  already_finalized: {
    kind: 'conflict',
    title: 'The final report was given already',
    remedy: 'A piece of work ends once; send the node a message to give it new work.',
  },
  result_already_submitted: {
    kind: 'conflict',
    title: 'A result was submitted already',
    remedy: 'A result is immutable; send the node a message to give it new work.',
  },
  already_resolved: {
    kind: 'conflict',
    title: 'The request was resolved already',
    remedy: 'The first answer stands: `state`, `response` and `resolved_at` say which it was.',
  },
  already_running: {
    kind: 'conflict',
    title: 'The work of an earlier firing still goes on',
    remedy:
      'Wait for it, or cancel it: `slot` and `node_id` say which; a schedule with `overlap` `allow` or `queue` takes both.',
  },
  token_spent: {
    kind: 'conflict',
    title: 'The token is revoked or has expired',
    remedy: 'Mint a new one with `svc sys connect --app <app>`.',
  },
  owner_token_needed: {
    kind: 'conflict',
    title: "The owner's token can't be revoked",
    remedy: 'Replace it by a new one: `svc sys tokens rotate <id>`.',
  },
  stale_generation: {
    kind: 'conflict',
    title: 'A newer process hosts this node',
    remedy: 'The caller was replaced and must stop; nothing was written.',
  },
  no_live_broker: {
    kind: 'conflict',
    title: 'No process hosts the node at the moment',
    remedy: 'A message brings a resting node back; its events and its history are there without one.',
  },
  journal_conflict: {
    kind: 'conflict',
    title: 'The journal already holds something else at this position',
    remedy: 'Bind again and go on from the recorded position.',
  },
  version_conflict: {
    kind: 'conflict',
    title: 'Somebody changed the resource at the same time',
    remedy: 'Read it again and repeat the change.',
    retryable: true,
  },
  idempotency_in_progress: {
    kind: 'conflict',
    title: 'The first request with this idempotency key is still running',
    remedy: 'Try again shortly with the same key.',
    retryable: true,
  },
  already_exists: {
    kind: 'conflict',
    title: 'A resource of that name exists already',
    remedy: 'Choose another name, or change the one that exists.',
  },
  outcome_unknown: {
    kind: 'conflict',
    title: 'An earlier attempt was cut off, and how far it came is not known',
    remedy: 'It is not run again by itself: look at what it left, then ask again with a fresh idempotency key.',
  },
  worktree_dirty: {
    kind: 'conflict',
    title: 'The worktree has changes that are not committed',
    remedy: 'Commit them, or repeat with `force` to lose what `changes` names.',
  },
  worktree_busy: {
    kind: 'conflict',
    title: 'The worktree is in use',
    remedy: 'Wait for its node and its jobs to end, or cancel them first.',
  },
  cursor_expired: {
    kind: 'gone',
    title: 'Events before the oldest kept one are gone',
    remedy: 'Read the resource afresh and go on from `oldest`.',
  },
  request_expired: {
    kind: 'gone',
    title: 'The deadline of the request has passed',
    remedy: 'Nobody can answer it any more; `default`, where there is one, stands. Send the asker a message instead.',
  },
  precondition_failed: {
    kind: 'precondition',
    title: 'The resource is not at the version that the caller named',
    remedy: 'Read it again and repeat the change on the present version.',
  },
  payload_too_large: {
    kind: 'too_large',
    title: 'The request is too large',
    remedy: '`limit` says how many bytes this route takes.',
  },
  file_too_large: {
    kind: 'too_large',
    title: 'The file would be larger than a write may be',
    remedy: 'Nothing was written; `limit` says how many bytes one write takes. Write it in parts by a command.',
  },
  headers_too_large: {
    kind: 'too_large',
    title: 'The request headers are too large',
    remedy: 'Send fewer or shorter headers.',
  },
  rate_limited: {
    kind: 'exhausted',
    title: 'Too many requests',
    remedy: 'Wait as long as Retry-After says.',
  },
  quota_exceeded: {
    kind: 'exhausted',
    title: 'A limit of the daemon is reached',
    remedy: '`limit` names it; the owner can raise it.',
    retryable: false,
  },
  internal: {
    kind: 'internal',
    title: 'The daemon failed',
    remedy: "The daemon's log has the cause under this request id.",
  },
  model_error: {
    kind: 'upstream',
    title: 'The model provider failed',
    remedy: '`provider`, `reason` and `upstream_status` say how; see `svc model status`.',
  },
  model_not_found: {
    kind: 'unprocessable',
    title: 'The provider does not know this model',
    remedy: 'Check the name with the provider, or change the ladder with `svc model config`.',
  },
  model_not_configured: {
    kind: 'unavailable',
    title: 'No model can serve this call',
    remedy:
      'Add a credential (`svc model add openai --key-file …`) or a local provider (`svc model add ollama --base-url http://127.0.0.1:11434/v1 --model …`), then `svc model status`.',
    retryable: false,
  },
  model_call_unknown: {
    kind: 'conflict',
    title: 'An earlier attempt of this model call ended unseen',
    remedy: 'It is recorded as outcome_unknown; ask again with the next attempt.',
    retryable: true,
  },
  budget_exhausted: {
    kind: 'budget',
    title: 'The budget is used up',
    remedy: 'Ask the owner to raise it.',
  },
  service_unavailable: {
    kind: 'unavailable',
    title: 'A part of the daemon is not there',
    remedy: '`service` names it; try again shortly, or see `svc sys status`.',
  },
  not_leader: {
    kind: 'unavailable',
    title: 'This writer was replaced',
    remedy: 'Try again; the request goes to the present one.',
  },
  version_mismatch: {
    kind: 'unavailable',
    title: 'Two parts of the daemon are of versions that do not fit',
    remedy: '`remedy` says which to restart.',
    retryable: false,
  },
  storage_full: {
    kind: 'full',
    title: 'No space is left to store this',
    remedy: 'Free space on the disk of the daemon; nothing was changed.',
  },
  deadline_exceeded: {
    kind: 'deadline',
    title: 'The time for this request ran out',
    remedy: 'Try again with a longer timeout.',
  },
  client_closed: {
    kind: 'deadline',
    title: 'The caller went away',
    remedy: 'Nothing to do: the caller canceled the request.',
    retryable: false,
  },
  ...objectErrorCodes,
})

export type ErrorCode = keyof typeof errorCodes

export interface ErrorFacts extends CodeFacts {
  readonly status: number
  readonly retryable: boolean
  readonly exit: number
}

/** All that is known of a code, with its kind's defaults filled in. */
export const factsOf = (code: ErrorCode): ErrorFacts => {
  const facts: CodeFacts = errorCodes[code]
  return { ...errorKinds[facts.kind], ...facts, retryable: facts.retryable ?? errorKinds[facts.kind].retryable }
}

export const isErrorCode = (value: unknown): value is ErrorCode =>
  typeof value === 'string' && Object.hasOwn(errorCodes, value)
