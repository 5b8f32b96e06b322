export interface ClientOptions {
  /** Address of the daemon; `SVC_BASE_URL` where there is an environment, else `http://127.0.0.1:7420`. */
  baseUrl?: string
  /** Bearer token; `SVC_TOKEN` where there is an environment. */
  token?: string
  /** Longest time in ms that a call may take, its retries included; 60,000 unless given. It travels to the daemon. */
  timeout?: number
  /** Further attempts after a failure that may pass; 2 unless given, and 10 in a row for streams and waits. */
  maxRetries?: number
  /** Used instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch
}

/** Last argument of every method. */
export interface RequestOptions {
  headers?: Record<string, string>
  signal?: AbortSignal
  /** Longest time in ms that this call may take, its retries included. */
  timeout?: number
  maxRetries?: number
}

/** Last argument of every method that returns a stream. */
export interface StreamOptions {
  headers?: Record<string, string>
  signal?: AbortSignal
  /** Failed connections in a row after which the stream gives up; 10 unless given. */
  maxRetries?: number
  /** Start after the event with this id. */
  after?: string
}

/** Last argument of a method whose stream begins with all that is owed, on every connect. */
export interface ReceiveOptions extends Omit<StreamOptions, 'after'> {
  /** A position: what is behind it comes too, though it is acknowledged. It hides nothing. */
  after?: number
}
