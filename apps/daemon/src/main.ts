import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { projectRoot } from './project-root.js'

// The launcher of the embedded daemon.
//   main.js [--foreground]   serves in this process until a signal
//   main.js --detached       starts another one in a session of its own, waits until it is ready, and ends
enableCompileCache(join(projectRoot, 'dist', '.compile-cache'))

const known = ['--foreground', '--detached']
const args = process.argv.slice(2)
const unknown = args.filter((arg) => !known.includes(arg))
if (unknown.length > 0) {
  process.stderr.write(`Unknown argument ${unknown.join(' ')}. Known: ${known.join(', ')}.\n`)
  process.exit(2)
}

try {
  if (args.includes('--detached')) {
    const { startDetached } = await import('./detached.js')
    await startDetached()
  } else {
    const { serve } = await import('./serve.js')
    await serve()
  }
} catch (error) {
  process.stderr.write(`svc can't start: ${(error as Error).message}\n`)
  process.exit(1)
}
