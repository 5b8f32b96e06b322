/**
 * V8's flags for the process that holds all services: 8 MiB of young generation (three half-spaces of it), where the
 * default of 16 leaves tens of MiB resident after a burst. The old generation is collected from 64 MiB on: with a small
 * heap each few texts of a mebibyte, which begin their lives there, would set a whole collection off.
 */
export const daemonFlags = ['--max-semi-space-size=8', '--initial-old-space-size=64'] as const
/** The host's own objects are few and small; what it is given to write to files is not. */
export const hostFlags = ['--max-semi-space-size=2', '--initial-old-space-size=64'] as const
