const special = /[.+^$()|\\]/

/** One piece of a glob as a regular expression, and how many characters of the glob it took. */
const pieceOf = (glob: string, at: number): [source: string, length: number] => {
  const rest = glob.slice(at)
  if (rest.startsWith('**/') && (at === 0 || glob[at - 1] === '/')) return ['(?:.*/)?', 3]
  if (rest.startsWith('**')) return ['.*', 2]
  const set = /^\[([!^]?)((?:\]|[^\]/])[^\]/]*)\]/.exec(rest)
  if (set) return [`[${set[1] ? '^/' : ''}${set[2]!.replace(/[\\[\]]/g, '\\$&')}]`, set[0].length]
  const character = rest[0]!
  if (character === '*') return ['[^/]*', 1]
  if (character === '?') return ['[^/]', 1]
  if (character === '\\' && rest.length > 1) return [rest[1]!.replace(/[^\w/]/, '\\$&'), 2]
  return [special.test(character) || '[]{}'.includes(character) ? `\\${character}` : character, 1]
}

/** The choices of the braces that begin here, and the length of all of it; undefined: they never end. */
const choicesOf = (rest: string): [choices: string[], length: number] | undefined => {
  const choices = ['']
  let depth = 0
  for (const [at, character] of [...rest].entries()) {
    if (character === '{') depth += 1
    if (character === '}') depth -= 1
    if (depth === 0) return [choices, at + 1]
    if (character === ',' && depth === 1) choices.push('')
    else if (at > 0) choices[choices.length - 1] += character
  }
  return undefined
}

const sourceOf = (glob: string): string => {
  let source = ''
  for (let at = 0; at < glob.length; ) {
    const braces = glob[at] === '{' ? choicesOf(glob.slice(at)) : undefined
    const [piece, length] = braces
      ? ([`(?:${braces[0].map(sourceOf).join('|')})`, braces[1]] as const)
      : pieceOf(glob, at)
    source += piece
    at += length
  }
  return source
}

/**
 * What a glob fits, as git and ripgrep read it: `*` and `?` within one name, `**` through any number of directories,
 * sets and choices; without a slash before its end it fits names in any directory.
 */
export const globExpression = (glob: string): RegExp => {
  const anywhere = !glob.slice(0, -1).includes('/')
  const bare = glob.replace(/^\//, '').replace(/\/$/, '')
  return new RegExp(`^${anywhere ? '(?:.*/)?' : ''}${sourceOf(bare)}$`, 's')
}
