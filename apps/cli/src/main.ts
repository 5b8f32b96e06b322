import { enableCompileCache } from 'node:module'

// What compiled once is read back from the cache; the variable is for this process, not for the programs it starts.
if (process.env.NODE_COMPILE_CACHE) delete process.env.NODE_COMPILE_CACHE
else enableCompileCache()

const { run } = await import('./program.js')
process.exitCode = await run(process.argv.slice(2))
