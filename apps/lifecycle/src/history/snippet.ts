const [begin, end] = ['\u0002', '\u0003']

/** A headline without its marks, and where they were. */
export const highlighted = (headline: string): { snippet: string; highlights: [number, number][] } => {
  const highlights: [number, number][] = []
  let snippet = ''
  for (const part of headline.split(begin)) {
    const [word, ...rest] = part.split(end)
    if (rest.length > 0) highlights.push([snippet.length, snippet.length + (word?.length ?? 0)])
    snippet += [word, ...rest].join('')
  }
  return { snippet, highlights }
}
