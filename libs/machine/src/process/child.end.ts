import type { ChildProcess } from 'node:child_process'
import { after } from '../clock.js'
import type { CommandEnd } from './command.js'

/** After a program's end its output may still be on its way, unless a child of it holds the pipe (ms). */
const drainLimit = 250

/** Resolves when a child has ended and its output was read. */
export const endOfChild = (child: ChildProcess): Promise<CommandEnd> =>
  new Promise((resolve) => {
    child.once('error', (refusal: NodeJS.ErrnoException) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, refusal })
    })
    child.once('exit', (code, signal) => {
      let over = false
      const finish = (): void => {
        if (over) return
        over = true
        callOff()
        for (const stream of [child.stdout, child.stderr]) stream?.removeAllListeners('data').resume()
        resolve({ code, signal, refusal: null })
      }
      const callOff = after(drainLimit, finish)
      child.once('close', finish)
    })
  })

export const writeTo = (child: ChildProcess, text: string): void => {
  if (child.stdin?.writable) child.stdin.write(text)
}

/** A program may close its input, or end, while something is written to it: its own affair. */
export const forgiveInput = (child: ChildProcess): void => {
  child.stdin?.on('error', () => undefined)
}
