/**
 * V8's flags for the process that holds all services: 8 MiB of young generation (three half-spaces of it), where the
 * default of 16 leaves tens of MiB resident after a burst.
 */
export const daemonFlags = ['--max-semi-space-size=8'] as const
/** The host handles messages and processes, no data. */
export const hostFlags = ['--max-semi-space-size=2', '--max-old-space-size=256'] as const
