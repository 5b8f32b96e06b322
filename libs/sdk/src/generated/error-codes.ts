// Made from the contract by `npm run gen`. Do not edit.

/** Kinds of errors, each with its HTTP status. */
export const errorKinds = {
  invalid: 400,
  unprocessable: 422,
  unauthenticated: 401,
  budget: 402,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  gone: 410,
  precondition: 412,
  too_large: 413,
  exhausted: 429,
  internal: 500,
  upstream: 502,
  unavailable: 503,
  deadline: 504,
  full: 507,
} as const

export type ErrorKind = keyof typeof errorKinds

export interface CodeFacts {
  readonly kind: ErrorKind
  readonly retryable: boolean
  /** What the caller can do about it. */
  readonly remedy: string
}

/** Every code that the daemon answers. */
export const errorCodes = {
  malformed_request: { kind: 'invalid', retryable: false, remedy: "Send valid JSON with Content-Type application/json." },
  validation_failed: { kind: 'unprocessable', retryable: false, remedy: "Each entry of `errors` points at a field and says what it takes." },
  not_a_file: { kind: 'unprocessable', retryable: false, remedy: "Directories are listed; pipes, sockets and devices are neither read nor written." },
  not_a_directory: { kind: 'unprocessable', retryable: false, remedy: "Files are read; only directories are listed, and hold other files." },
  worktree_refused: { kind: 'unprocessable', retryable: false, remedy: "`reason` says why; name a directory of a git repository, a base that exists and a branch that does not." },
  idempotency_key_reused: { kind: 'unprocessable', retryable: false, remedy: "Use a fresh key for a different body; repeat a request with its own body only." },
  address_unavailable: { kind: 'unprocessable', retryable: false, remedy: "`detail` says why; name a free port and an address of this machine, or settings for TLS." },
  schedule_impossible: { kind: 'unprocessable', retryable: false, remedy: "Name a date that exists (`0 0 31 2 *` never comes), between `start_at` and `end_at` if there are such." },
  schedule_too_frequent: { kind: 'unprocessable', retryable: false, remedy: "`minimum_s` is the least distance in seconds; let one piece of work do more, or run it as a job." },
  schedule_past: { kind: 'unprocessable', retryable: false, remedy: "Name a moment after `now`; what is to be done at once needs no schedule." },
  timezone_unknown: { kind: 'unprocessable', retryable: false, remedy: "Use a name of the IANA database, like `Europe/Berlin` or `UTC`." },
  action_unavailable: { kind: 'unprocessable', retryable: false, remedy: "Take one of `available`." },
  result_schema_mismatch: { kind: 'unprocessable', retryable: false, remedy: "Submit a value that fits `result_schema`; `errors` names each difference." },
  token_missing: { kind: 'unauthenticated', retryable: false, remedy: "Send `Authorization: Bearer <token>`; `svc sys connect` prints the base URL and a token." },
  token_invalid: { kind: 'unauthenticated', retryable: false, remedy: "Check for a truncated copy; `svc sys connect` prints a valid one." },
  token_expired: { kind: 'unauthenticated', retryable: false, remedy: "Ask the owner of the daemon for a new token." },
  token_revoked: { kind: 'unauthenticated', retryable: false, remedy: "Ask the owner of the daemon for a new token." },
  scope_missing: { kind: 'forbidden', retryable: false, remedy: "Use a token that holds the scope named in `scope`." },
  scope_exceeds_ceiling: { kind: 'forbidden', retryable: false, remedy: "Leave out the scopes named in `scopes`, or ask with a token that holds them." },
  owner_required: { kind: 'forbidden', retryable: false, remedy: "Use the owner's token (`svc sys connect`)." },
  node_token_required: { kind: 'forbidden', retryable: false, remedy: "This route belongs to the process that hosts the node." },
  app_token_required: { kind: 'forbidden', retryable: false, remedy: "Use a token that `svc sys connect --app <app>` minted." },
  publish_token_only: { kind: 'forbidden', retryable: false, remedy: "Use the owner's token, or one that was minted for an app." },
  grant_revoked: { kind: 'forbidden', retryable: false, remedy: "The owner gives it back with `svc app grant <app> <scopes>`; what runs for the app rests until then." },
  listener_forbidden: { kind: 'forbidden', retryable: false, remedy: "Call the owner's listener, or use the routes of the application listener." },
  host_forbidden: { kind: 'forbidden', retryable: false, remedy: "Call it by its own address, or let the owner add the name: `svc request PATCH /v1/access '{\"hosts\":[\"<name>\"]}'`." },
  origin_forbidden: { kind: 'forbidden', retryable: false, remedy: "On the application listener the app names its origins (`svc app set <app> --origin <origin>`); on the owner’s the owner does (`svc sys connect --origin <origin>`)." },
  path_outside_scope: { kind: 'forbidden', retryable: false, remedy: "Stay inside the working directory and the mounted directories." },
  file_access_denied: { kind: 'forbidden', retryable: false, remedy: "Change its permissions, or let the daemon run as an account that may; what is not on a disk, like /proc, is for a command." },
  sandbox_required: { kind: 'forbidden', retryable: false, remedy: "Install bubblewrap and allow user namespaces (`svc sys doctor` says what is missing), or let the owner consent to running without: `svc sys sandbox --consent`." },
  not_found: { kind: 'not_found', retryable: false, remedy: "Check the identifier or the path; what belongs to somebody else answers alike." },
  route_not_found: { kind: 'not_found', retryable: false, remedy: "See /v1/openapi.json for the routes that this daemon serves." },
  illegal_transition: { kind: 'conflict', retryable: false, remedy: "`state` and `event` name what was refused; read the resource and choose what its state allows." },
  already_finalized: { kind: 'conflict', retryable: false, remedy: "A piece of work ends once; send the node a message to give it new work." },
  result_already_submitted: { kind: 'conflict', retryable: false, remedy: "A result is immutable; send the node a message to give it new work." },
  already_resolved: { kind: 'conflict', retryable: false, remedy: "The first answer stands: `state`, `response` and `resolved_at` say which it was." },
  already_running: { kind: 'conflict', retryable: false, remedy: "Wait for it, or cancel it: `slot` and `node_id` say which; a schedule with `overlap` `allow` or `queue` takes both." },
  token_spent: { kind: 'conflict', retryable: false, remedy: "Mint a new one with `svc sys connect --app <app>`." },
  owner_token_needed: { kind: 'conflict', retryable: false, remedy: "Replace it by a new one: `svc sys tokens rotate <id>`." },
  stale_generation: { kind: 'conflict', retryable: false, remedy: "The caller was replaced and must stop; nothing was written." },
  no_live_broker: { kind: 'conflict', retryable: false, remedy: "A message brings a resting node back; its events and its history are there without one." },
  journal_conflict: { kind: 'conflict', retryable: false, remedy: "Bind again and go on from the recorded position." },
  version_conflict: { kind: 'conflict', retryable: true, remedy: "Read it again and repeat the change." },
  idempotency_in_progress: { kind: 'conflict', retryable: true, remedy: "Try again shortly with the same key." },
  already_exists: { kind: 'conflict', retryable: false, remedy: "Choose another name, or change the one that exists." },
  outcome_unknown: { kind: 'conflict', retryable: false, remedy: "It is not run again by itself: look at what it left, then ask again with a fresh idempotency key." },
  worktree_dirty: { kind: 'conflict', retryable: false, remedy: "Commit them, or repeat with `force` to lose what `changes` names." },
  worktree_busy: { kind: 'conflict', retryable: false, remedy: "Wait for its node and its jobs to end, or cancel them first." },
  cursor_expired: { kind: 'gone', retryable: false, remedy: "Read the resource afresh and go on from `oldest`." },
  request_expired: { kind: 'gone', retryable: false, remedy: "Nobody can answer it any more; `default`, where there is one, stands. Send the asker a message instead." },
  precondition_failed: { kind: 'precondition', retryable: false, remedy: "Read it again and repeat the change on the present version." },
  payload_too_large: { kind: 'too_large', retryable: false, remedy: "`limit` says how many bytes this route takes." },
  file_too_large: { kind: 'too_large', retryable: false, remedy: "Nothing was written; `limit` says how many bytes one write takes. Write it in parts by a command." },
  headers_too_large: { kind: 'too_large', retryable: false, remedy: "Send fewer or shorter headers." },
  rate_limited: { kind: 'exhausted', retryable: true, remedy: "Wait as long as Retry-After says." },
  quota_exceeded: { kind: 'exhausted', retryable: false, remedy: "`limit` names it; the owner can raise it." },
  internal: { kind: 'internal', retryable: true, remedy: "The daemon's log has the cause under this request id." },
  model_error: { kind: 'upstream', retryable: true, remedy: "`provider`, `reason` and `upstream_status` say how; see `svc model status`." },
  model_not_found: { kind: 'unprocessable', retryable: false, remedy: "Check the name with the provider, or change the ladder with `svc model config`." },
  model_not_configured: { kind: 'unavailable', retryable: false, remedy: "Add a credential (`svc model add openai --key-file …`) or a local provider (`svc model add ollama --base-url http://127.0.0.1:11434/v1 --model …`), then `svc model status`." },
  model_call_unknown: { kind: 'conflict', retryable: true, remedy: "It is recorded as outcome_unknown; ask again with the next attempt." },
  budget_exhausted: { kind: 'budget', retryable: false, remedy: "Ask the owner to raise it." },
  service_unavailable: { kind: 'unavailable', retryable: true, remedy: "`service` names it; try again shortly, or see `svc sys status`." },
  not_leader: { kind: 'unavailable', retryable: true, remedy: "Try again; the request goes to the present one." },
  version_mismatch: { kind: 'unavailable', retryable: false, remedy: "`remedy` says which to restart." },
  storage_full: { kind: 'full', retryable: true, remedy: "Free space on the disk of the daemon; nothing was changed." },
  deadline_exceeded: { kind: 'deadline', retryable: true, remedy: "Try again with a longer timeout." },
  client_closed: { kind: 'deadline', retryable: false, remedy: "Nothing to do: the caller canceled the request." },
} as const satisfies Record<string, CodeFacts>

export type ErrorCode = keyof typeof errorCodes
