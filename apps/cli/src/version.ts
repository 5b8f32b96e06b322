import { version } from '#sdk/index.js'

/** This command's version: that of the client it was built with. */
export const cliVersion: string = version
