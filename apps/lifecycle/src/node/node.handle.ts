/** Characters of a handle. */
const longest = 80

/** Marks of Markdown at the beginning of a line: headings, quotes, points of a list, emphasis. */
const mark = /^(?:#{1,6}\s+|>\s*|[-*+]\s+(?:\[[ xX]\]\s+)?|\d+[.)]\s+)+/

const plain = (line: string): string =>
  line
    .trim()
    .replace(mark, '')
    .replace(/(\*\*|__|`)/g, '')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()

const cut = (text: string): string => {
  const characters = [...text]
  if (characters.length <= longest) return text
  const head = characters.slice(0, longest - 1).join('')
  const space = head.lastIndexOf(' ')
  return `${(space > longest / 2 ? head.slice(0, space) : head).trimEnd()}…`
}

/** A short handle for what a node was made for: the first line of its prompt that says something; null when none does. */
export const handleOf = (prompt: string): string | null => {
  const line = prompt
    .split('\n', 1000)
    .map(plain)
    .find((text) => /[\p{L}\p{N}]/u.test(text))
  return line === undefined ? null : cut(line)
}
