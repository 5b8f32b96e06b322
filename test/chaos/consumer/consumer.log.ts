import { closeSync, openSync, readSync } from 'node:fs'

/** Bytes that are read at once. */
const piece = 1 << 20

/**
 * What a consumer noted over all its lives (a connection each), held against what must hold of it: each delivery came, for the first time in
 * order, and no more on a connection that was made when the consumer knew that it was acknowledged. Reads what was added since its last look.
 */
export class ConsumerLog {
  readonly violations: string[] = []
  /** Deliveries that came at least once. */
  fresh = 0
  /** Deliveries that came again. */
  again = 0
  lives = 0
  /** By number: the life in which it was known. */
  readonly #acked = new Map<number, number>()
  /** By publisher: the number of its last event. */
  readonly #numbers = new Map<string, number>()
  /** Number of the last delivery in this life. */
  #last = 0
  #rest = ''
  readonly #bytes = Buffer.alloc(piece)
  readonly #file: number
  #position = 0

  /** @param path of a file that is there */
  constructor(path: string) {
    this.#file = openSync(path, 'r')
  }

  get acked(): number {
    return this.#acked.size
  }

  read(): this {
    for (;;) {
      const length = readSync(this.#file, this.#bytes, 0, piece, this.#position)
      if (length === 0) return this
      this.#position += length
      const lines = (this.#rest + this.#bytes.toString('latin1', 0, length)).split('\n')
      this.#rest = lines.pop() ?? ''
      for (const line of lines) this.#take(line)
    }
  }

  close(): void {
    closeSync(this.#file)
  }

  #take(line: string): void {
    const [what, ...words] = line.split(' ')
    if (what === 'began') this.#begin()
    else if (what === 'received') this.#receive(Number(words[0]), words[1] ?? '', Number(words[2]))
    else for (const word of words) this.#acked.set(Number(word), this.lives)
  }

  #begin(): void {
    this.lives += 1
    this.#last = 0
  }

  #receive(seq: number, by: string, number: number): void {
    if (seq <= this.#last) this.#violate(`${seq} came after ${this.#last}`)
    this.#last = seq
    if ((this.#acked.get(seq) ?? this.lives) < this.lives) this.#violate(`${seq} came again, which was acknowledged`)
    if (seq <= this.fresh) {
      this.again += 1
      return
    }
    if (seq !== this.fresh + 1) this.#violate(`${seq} came first after ${this.fresh}`)
    this.fresh = seq
    const before = this.#numbers.get(by) ?? 0
    if (number !== before + 1) this.#violate(`${by}’s event ${number} came first after its ${before}`)
    this.#numbers.set(by, number)
  }

  #violate(sentence: string): void {
    this.violations.push(`life ${this.lives}: ${sentence}`)
  }
}
