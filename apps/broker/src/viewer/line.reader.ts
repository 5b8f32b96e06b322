/** Lines out of pieces of text. A line that is too long is told once, and the rest of it passed over. */
export class LineReader {
  #kept = ''
  #skipping = false

  /** @param longest characters of a line */
  constructor(
    private readonly longest: number,
    private readonly onLine: (line: string) => void,
    private readonly onTooLong: () => void,
  ) {}

  push(piece: string): void {
    let from = 0
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', from)) {
      this.#take(piece.slice(from, end), true)
      from = end + 1
    }
    if (from < piece.length) this.#take(piece.slice(from), false)
  }

  #take(text: string, whole: boolean): void {
    if (this.#skipping) {
      this.#skipping = !whole
      return
    }
    if (this.#kept.length + text.length > this.longest) {
      this.#kept = ''
      this.#skipping = !whole
      this.onTooLong()
    } else if (whole) {
      const line = this.#kept + text
      this.#kept = ''
      if (line.trim() !== '') this.onLine(line)
    } else this.#kept += text
  }
}
