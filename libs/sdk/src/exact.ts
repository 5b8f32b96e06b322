/** What of a JSON text would be another value once it is read. */
export interface Loss {
  /** JSON pointer to it. */
  readonly pointer: string
  /** What is wrong, and what to do. */
  readonly message: string
}

/** Fewer digits than these a double always holds. */
const longDigits = 16
const beforeNumber = new Set('[,:- \t\r\n')
const half = /\\u[dD][89a-fA-F]/
const number = /-?\d[\d.eE+-]*/y

/**
 * Whether a JSON text may hold a whole number that no double holds, or half of a surrogate pair. Quick, for a text that is
 * read all the time; `lossIn` says for certain.
 */
export const mayLose = (text: string): boolean => hasLongNumber(text) || (text.includes('\\u') && half.test(text))

const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** Looks at one character of as many as a long number has, and around those that are digits. */
const hasLongNumber = (text: string): boolean => {
  for (let at = longDigits - 1; at < text.length; at += longDigits) {
    if (!isDigit(text.charCodeAt(at))) continue
    let begin = at
    while (isDigit(text.charCodeAt(begin - 1))) begin -= 1
    while (isDigit(text.charCodeAt(at + 1))) at += 1
    if (at - begin + 1 >= longDigits && (begin === 0 || beforeNumber.has(text.charAt(begin - 1)))) return true
  }
  return false
}

/**
 * The first thing of a JSON text that would silently be another value once it is read: a number beyond all doubles, a
 * whole number that would be written back as another one, half of a surrogate pair, which has no UTF-8. A fraction, or what
 * has an exponent, is the nearest double to every reader.
 *
 * @param text which is JSON
 */
export const lossIn = (text: string): Loss | undefined => {
  const path: (string | number)[] = []
  let name = false
  for (let at = 0; at < text.length; ) {
    const found = text[at] as string
    const inside = path.at(-1)
    let end = at + 1
    let message: string | undefined
    if (found === '{' || found === '[') {
      name = found === '{'
      path.push(name ? '' : 0)
    } else if (found === '}' || found === ']') path.pop()
    else if (found === ':') name = false
    else if (found === ',') {
      name = typeof inside === 'string'
      if (typeof inside === 'number') path[path.length - 1] = inside + 1
    } else if (found === '"') {
      end = endOfString(text, at)
      const token = text.slice(at, end)
      if (name) path[path.length - 1] = token
      message = lossOfString(token)
    } else if (found === '-' || isDigit(text.charCodeAt(at))) {
      number.lastIndex = at
      const [token = ''] = number.exec(text) ?? []
      end = at + token.length
      message = lossOfNumber(token)
    }
    if (message !== undefined) return { pointer: pointerOf(path), message }
    at = end
  }
  return undefined
}

const endOfString = (text: string, begin: number): number => {
  for (let at = begin + 1; ; at += 1) {
    at = text.indexOf('"', at)
    if (at < 0) return text.length
    let escapes = 0
    while (text[at - 1 - escapes] === '\\') escapes += 1
    if (escapes % 2 === 0) return at + 1
  }
}

const lossOfString = (token: string): string | undefined =>
  half.test(token) && /\p{Surrogate}/u.test(JSON.parse(token))
    ? 'has half of a surrogate pair, which is no character: send all of it, or leave it out'
    : undefined

const lossOfNumber = (token: string): string | undefined => {
  const value = Number(token)
  if (!Number.isFinite(value)) return 'is a number beyond 1.8e308: send it as a string'
  if (token.length < longDigits || !/^-?\d+$/.test(token) || digitsOf(value) === token) return undefined
  return `is a whole number that would be kept as ${value}: send it as a string, or as that number`
}

/** A whole number as JSON writers write it, without an exponent. Past 2^53 they write zeros where its last digits were. */
const digitsOf = (value: number): string => {
  const [, sign, first, rest = '', exponent] = /^(-?)(\d)(?:\.(\d+))?e\+(\d+)$/.exec(String(value)) ?? []
  return exponent === undefined ? String(value) : `${sign}${first}${rest.padEnd(Number(exponent), '0')}`
}

/** How much of a pointer is said. */
const longest = 200

const pointerOf = (path: readonly (string | number)[]): string => {
  const whole = path
    .map((step) => (typeof step === 'number' ? String(step) : (JSON.parse(step || '""') as string)))
    .map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')
    .replace(/\p{Surrogate}/gu, '\ufffd')
  return whole.length > longest ? `${whole.slice(0, longest).replace(/\p{Surrogate}$/u, '')}…` : whole
}
