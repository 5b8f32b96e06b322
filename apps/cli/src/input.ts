import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { lossIn } from '#sdk/exact.js'
import { UsageError } from './failure.js'

export const standardInput = async (): Promise<string> => {
  process.stdin.setEncoding('utf8')
  let text = ''
  for await (const piece of process.stdin) text += piece
  return text
}

/** Standard input as it comes, to its end. */
export const standardBytes = async (): Promise<Buffer> => {
  const pieces: Buffer[] = []
  for await (const piece of process.stdin) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

/** A text argument: `-` reads it from standard input. @throws UsageError when nothing is there */
export const textOf = async (given: string | undefined, what: string): Promise<string> => {
  const found = given === '-' ? (await standardInput()).replace(/\n$/, '') : given
  if (!found)
    throw new UsageError(`${what} is missing`, `give it as an argument, or "-" to read it from standard input`)
  return found
}

/** A JSON value: itself, `@file`, or `-` for standard input. @throws UsageError as `parsedJson` */
export const jsonOf = async (given: string, what: string): Promise<unknown> => {
  if (given === '-') return parsedJson(await standardBytes(), what)
  return given.startsWith('@') ? fileJson(given.slice(1), what) : parsedJson(given, what)
}

/**
 * The value of a JSON text. What would change by being read is refused here: the daemon would only see what became of it.
 *
 * @throws UsageError when it is no JSON, or has bytes, numbers or characters that can't be kept as they are
 */
export const parsedJson = (source: string | Buffer, what: string): unknown => {
  if (typeof source !== 'string' && !isUtf8(source)) throw new UsageError(`${what} is not UTF-8`)
  const text = source.toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${what} is not JSON: ${(error as Error).message}`)
  }
  const loss = lossIn(text)
  if (loss) throw new UsageError(`${what}${loss.pointer && ` at ${loss.pointer}`} ${loss.message}`)
  return value
}

/** JSON that mostly lies in a file: the file's name, `-` for standard input, or the JSON itself. @throws UsageError */
export const jsonIn = (given: string, what: string): Promise<unknown> =>
  jsonOf(given === '-' || /^\s*[[{@]/.test(given) ? given : `@${given}`, what)

/** @throws UsageError when the file can't be read, or whoever runs this may read none: an agent without a shell */
export const fileText = (path: string): string => fileBytes(path).toString()

/** A JSON value that lies in a file. @throws UsageError as `fileText` and `parsedJson` */
export const fileJson = (path: string, what: string): unknown => parsedJson(fileBytes(path), what)

/** What a message or report carries besides its text. */
export interface Attached {
  readonly name: string
  readonly text?: string
  readonly base64?: string
}

/**
 * Files as attachments, by their own names.
 *
 * @param secret left out of them: what is reported is read by others
 * @throws UsageError when one can't be read, or whoever runs this may read none
 */
export const attachmentsOf = (paths: readonly string[], secret?: string): Attached[] =>
  paths.map((path) => {
    const read = fileBytes(path)
    const bytes = secret && read.includes(secret) ? without(read, secret) : read
    const name = basename(path)
    return isUtf8(bytes) && !bytes.includes(0)
      ? { name, text: bytes.toString() }
      : { name, base64: bytes.toString('base64') }
  })

const without = (bytes: Buffer, secret: string): Buffer =>
  Buffer.from(bytes.toString('latin1').replaceAll(secret, "[the node's token]"), 'latin1')

const fileBytes = (path: string): Buffer => {
  if (process.env.SVC_NO_FILES) throw new UsageError('no files are read here', 'give the text itself')
  try {
    return readFileSync(path)
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${(error as Error).message}`)
  }
}

/** One line typed on the terminal without being shown. */
export const hiddenLine = (prompt: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { stdin, stderr } = process
    let line = ''
    const finish = (end: () => void) => {
      stdin.setRawMode(false)
      stdin.pause()
      stdin.off('data', onData)
      stderr.write('\n')
      end()
    }
    const onData = (piece: Buffer) => {
      for (const key of piece.toString('utf8')) {
        if (key === '\u0003') return finish(() => reject(new UsageError('canceled')))
        if (key === '\r' || key === '\n' || key === '\u0004') return finish(() => resolve(line))
        line = key === '\u007f' || key === '\b' ? line.slice(0, -1) : line + key
      }
    }
    stderr.write(prompt)
    stdin.setRawMode(true)
    stdin.resume()
    stdin.on('data', onData)
  })

/** One line typed on the terminal. */
export const shownLine = async (prompt: string): Promise<string> => {
  const { createInterface } = await import('node:readline/promises')
  const asked = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await asked.question(prompt)
  } finally {
    asked.close()
  }
}

/** A whole number of an option. @throws UsageError */
export const wholeNumber = (text: string): number => {
  if (!/^\d+$/.test(text)) throw new UsageError(`${text} is not a whole number`)
  return Number(text)
}

/** How many of an option: a whole number of 1 or more. @throws UsageError */
export const countNumber = (text: string): number => {
  if (!/^0*[1-9]\d*$/.test(text)) throw new UsageError(`${text} is not a whole number of 1 or more`)
  return Number(text)
}

/** An option that may be given several times. */
export const repeated = (text: string, before: readonly string[] = []): string[] => [...before, text]

/** `NAME=value` of an option. @throws UsageError */
export const assignment = (text: string): [string, string] => {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError(`--env takes NAME=value, not ${text}`)
  return [text.slice(0, at), text.slice(at + 1)]
}

const units = { ms: 1, s: 1000, m: 60_000 } as const

/** How long a command may take, in ms: `500`, `30s`, `5m`. @throws UsageError */
export const milliseconds = (text: string): number => {
  const [, number, unit = 'ms'] = /^(\d+)(ms|s|m)?$/.exec(text) ?? []
  if (number === undefined) throw new UsageError(`${text} is no time`, 'like 500 (ms), 30s or 5m')
  return Number(number) * units[unit as keyof typeof units]
}

/** One of the words that an option takes, if it was given. @throws UsageError */
export const oneOf = <const T extends string>(
  known: readonly T[],
  given: string | undefined,
  option: string,
): T | undefined => {
  if (given === undefined) return undefined
  if (!known.includes(given as T)) throw new UsageError(`${option} is ${known.join(' or ')}, not ${given}`)
  return given as T
}
