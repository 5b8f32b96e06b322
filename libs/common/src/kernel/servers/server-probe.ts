import { connect, type NetConnectOpts } from 'node:net'

const patienceMs = 2_000

/**
 * Connects, sends `greeting` and resolves when the first answer begins with `expected`.
 * Rejects on refusal, another answer, an early end, or after two seconds.
 */
export function probe(target: NetConnectOpts, greeting: string | Buffer, expected: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(target)
    const settle = (error?: Error) => {
      socket.destroy()
      if (error) reject(error)
      else resolve()
    }
    socket.setTimeout(patienceMs, () => settle(new Error('no answer')))
    socket.once('error', settle)
    socket.once('close', () => settle(new Error('closed without an answer')))
    socket.once('connect', () => socket.write(greeting))
    let answer = ''
    socket.on('data', (piece) => {
      answer += piece.toString('latin1')
      if (answer.startsWith(expected)) settle()
      else if (!expected.startsWith(answer)) settle(new Error(`answered ${JSON.stringify(answer.slice(0, 80))}`))
    })
  })
}
