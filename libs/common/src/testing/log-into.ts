import { Writable } from 'node:stream'
import { pino } from 'pino'
import type { Logger } from '../kernel/log.js'

/** A log whose lines are handed over, each as its JSON text. */
export const logInto = (add: (line: string) => void, level: 'debug' | 'info' = 'debug'): Logger =>
  pino(
    { level },
    new Writable({
      write: (line: Buffer, _encoding, done) => {
        add(line.toString())
        done()
      },
    }),
  )
