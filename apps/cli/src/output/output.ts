import { styleText } from 'node:util'
import { cut, widthOf } from './width.js'

type Format = Parameters<typeof styleText>[0]

/** The two streams of a call. Results go to standard output, everything about them to standard error. */
export class Output {
  readonly #out: NodeJS.WriteStream
  readonly #err: NodeJS.WriteStream
  readonly #coloured: (stream: NodeJS.WriteStream) => boolean
  readonly #steers: boolean
  #framed = 0
  #status = ''
  #statusShown = false
  #atStart = true

  constructor(out: NodeJS.WriteStream, err: NodeJS.WriteStream, env: NodeJS.ProcessEnv) {
    this.#out = out
    this.#err = err
    this.#coloured = (stream) => stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
    this.#steers = env.TERM !== 'dumb'
    // `svc … | head` closes our output early: that ends the call, and is no failure.
    out.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
    // Remarks that nobody reads are no reason to give up.
    err.on('error', () => undefined)
  }

  get isTerminal(): boolean {
    return this.#out.isTTY === true
  }

  /** Text of a result, with a line end. */
  line(text = ''): void {
    this.write(`${text}\n`)
  }

  /** Lines in place of those that were shown this way before; only on a terminal. */
  frame(lines: readonly string[]): void {
    const { columns } = this
    const room = Math.max(1, (this.#out.rows || 24) - 1)
    const left = lines.length - room
    const cutOff = left > 0 ? [...lines.slice(0, room - 1), `… ${left + 1} more lines`] : lines
    const shown = cutOff.map((line) => fitted(printable(line), columns))
    this.#out.write(
      `${this.#framed > 0 ? `\x1b[${this.#framed}A\x1b[J` : ''}${shown.map((line) => `${line}\n`).join('')}`,
    )
    this.#framed = shown.length
  }

  write(text: string): void {
    if (!this.isTerminal) {
      this.#out.write(text)
      return
    }
    const erased = this.#statusShown
    this.#eraseStatus()
    this.#out.write(printable(text))
    if (text !== '') this.#atStart = text.endsWith('\n')
    if (erased || this.#status !== '') this.#drawStatus()
  }

  /**
   * A line that stays below what is written, in place of the one before; none when it is empty. Only on a terminal, and
   * only while no line of text is half written.
   */
  status(text: string): void {
    if (!this.isTerminal || !this.#steers || (this.#statusShown && text === this.#status)) return
    this.#eraseStatus()
    this.#status = text
    this.#drawStatus()
  }

  /** Columns of the screen. */
  get columns(): number {
    return this.#out.columns || 80
  }

  #eraseStatus(): void {
    if (this.#statusShown) this.#out.write('\r\x1b[2K')
    this.#statusShown = false
  }

  #drawStatus(): void {
    if (this.#status === '' || !this.#atStart) return
    this.#out.write(fitted(printable(this.#status), this.columns))
    this.#statusShown = true
  }

  /** Once all that was written has gone out; never where nobody reads it any more, which ends the call. */
  flushed(): Promise<void> {
    return new Promise((resolve) => {
      this.#out.write('', (error) => {
        if (!error) resolve()
      })
    })
  }

  /** Text that a program wrote to its standard error. */
  writeError(text: string): void {
    this.#err.write(this.#err.isTTY === true ? printable(text) : text)
  }

  /** The content of a file, as it is where it goes to another program. */
  bytes(content: Buffer): void {
    this.#out.write(this.isTerminal ? printable(content.toString()) : content)
  }

  /** One JSON value for a reader, over several lines. */
  json(value: unknown): void {
    this.#out.write(`${JSON.stringify(value, null, 2)}\n`)
  }

  /** One record of a stream, on one line. */
  record(value: unknown): void {
    this.#out.write(`${JSON.stringify(value)}\n`)
  }

  /** A remark to the person, which is no part of the result. */
  note(text: string): void {
    this.#eraseStatus()
    this.#err.write(`${this.#err.isTTY === true ? printable(text) : text}\n`)
  }

  paint(format: Format, text: string): string {
    return this.#coloured(this.#out) ? styleText(format, text, { validateStream: false }) : text
  }

  paintNote(format: Format, text: string): string {
    return this.#coloured(this.#err) ? styleText(format, text, { validateStream: false }) : text
  }
}

/** A line of at most so many columns, with what colours it left in. */
const fitted = (line: string, columns: number): string => {
  let left = columns - 1
  let shown = ''
  for (const part of line.split(/(\x1b\[[0-9;]*m)/)) {
    const text = part.startsWith('\x1b') ? part : left > 0 ? cut(part, left) : ''
    if (!part.startsWith('\x1b')) left -= widthOf(text)
    shown += text
  }
  return shown
}

/**
 * Texts of agents and programs must not steer the terminal: only colours of SGR pass. Nor may they turn around what is read
 * there: no character that overrides or isolates a direction passes.
 */
export const printable = (text: string): string =>
  text.replace(/\x1b\[[0-9;]*m|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, (found) =>
    found.endsWith('m') ? found : '',
  )

/** The same without colours: for a text that stands among others, which it would colour or hide. */
export const unstyled = (text: string): string => printable(text.replace(/\x1b\[[0-9;]*m/g, ''))
