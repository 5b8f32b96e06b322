import { enableCompileCache } from 'node:module'

// What compiled once is read back from the cache; the variable is for this process, not for the programs it starts.
if (process.env.NODE_COMPILE_CACHE) delete process.env.NODE_COMPILE_CACHE
else enableCompileCache()

// Anybody on this machine reads the command lines of others; a token on one is overwritten before it is sent.
if (process.argv.some((word) => word.startsWith('--token'))) process.title = 'svc'

const { run } = await import('./program.js')
process.exitCode = await run(process.argv.slice(2))
