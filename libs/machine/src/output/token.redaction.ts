/** What stands where the node's own token was printed. */
const stand = "[the node's token]"

export const withoutToken = (text: string, token: string): string => text.replaceAll(token, stand)

/**
 * Takes the node's token out of output that comes in pieces, wherever it was cut: whoever prints its environment must not
 * leave a key in the record. Holds back only an end that may be the token's beginning.
 */
export class TokenFilter {
  readonly #token: Buffer
  #held: Buffer = Buffer.alloc(0)

  constructor(token: string) {
    this.#token = Buffer.from(token)
  }

  /** What can be shown by now; maybe nothing. */
  push(chunk: Buffer): Buffer {
    const bytes = this.#held.length ? Buffer.concat([this.#held, chunk]) : chunk
    const pieces: Buffer[] = []
    let from = 0
    for (let at = bytes.indexOf(this.#token); at >= 0; at = bytes.indexOf(this.#token, from)) {
      pieces.push(bytes.subarray(from, at), Buffer.from(stand))
      from = at + this.#token.length
    }
    const rest = bytes.subarray(from)
    const end = this.#beginning(rest)
    this.#held = rest.subarray(end)
    const shown = rest.subarray(0, end)
    return pieces.length ? Buffer.concat([...pieces, shown]) : shown
  }

  /** What was held back, once nothing follows. */
  rest(): Buffer {
    const held = this.#held
    this.#held = Buffer.alloc(0)
    return held
  }

  /** Where the bytes may begin the token, and end before it does; their length when nowhere. */
  #beginning(bytes: Buffer): number {
    const token = this.#token
    const earliest = Math.max(0, bytes.length - token.length + 1)
    for (let at = bytes.indexOf(token[0]!, earliest); at >= 0; at = bytes.indexOf(token[0]!, at + 1)) {
      if (bytes.subarray(at).equals(token.subarray(0, bytes.length - at))) return at
    }
    return bytes.length
  }
}
