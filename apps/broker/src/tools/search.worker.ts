import { parentPort, Worker, workerData } from 'node:worker_threads'
import { after } from '#machine/clock.js'
import { type SearchAnswer, timeLimit, tooSlow } from './search.query.js'
import { type WalkRequest, walk } from './search.walk.js'
import { ToolError } from './tool.js'

/** What the bundled program does when it is started as a thread. */
export const answerSearch = (): void => parentPort?.postMessage(walk(workerData as WalkRequest))

/** Searches in a thread of its own, so that nothing else waits and it can be given up. */
export const searchInThread = (
  request: WalkRequest,
  signal: AbortSignal,
  program = new URL(import.meta.url),
): Promise<SearchAnswer> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(program, {
      workerData: request,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    })
    const finish = (settle: () => void): void => {
      callOff()
      signal.removeEventListener('abort', give)
      worker.terminate().then(settle, reject)
    }
    const give = (): void => finish(() => reject(signal.reason))
    const callOff = after(timeLimit, () => finish(() => reject(tooSlow())))
    if (signal.aborted) give()
    signal.addEventListener('abort', give, { once: true })
    worker.once('message', (answer: SearchAnswer) => finish(() => resolve(answer)))
    worker.once('error', (error) => finish(() => reject(new ToolError(`The search failed: ${error.message}`))))
  })
