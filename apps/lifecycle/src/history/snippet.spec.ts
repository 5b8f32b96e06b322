import { describe, expect, it } from '@jest/globals'
import { snippetOf } from './snippet.js'

const marks = (text: string, word: string) => text.replaceAll(word, `\u0002${word}\u0003`)
const shown = (text: string, word: string) => {
  const { snippet, highlights } = snippetOf(text, marks(text, word))
  return { snippet, words: highlights.map(([from, to]) => snippet.slice(from, to)) }
}

describe('snippetOf', () => {
  it('shows a short text whole, on one line, and says where the words stand', () => {
    expect(shown('a red\nfox, red again', 'red')).toEqual({ snippet: 'a red fox, red again', words: ['red', 'red'] })
  })

  it('takes a text without any from its beginning', () => {
    expect(snippetOf('plain', 'plain')).toEqual({ snippet: 'plain', highlights: [] })
  })

  it('shows the parts of a long text in which the words stand', () => {
    const far = 'filler '.repeat(200)
    const { snippet, words } = shown(`${far}red one ${far}red two ${far}red three`, 'red')
    expect(words).toEqual(['red', 'red'])
    expect(snippet).toMatch(/^… filler .*red one .* … filler .*red two .* …$/)
    expect(snippet.length).toBeLessThan(500)
  })

  it('cuts no character in two', () => {
    const { snippet } = shown(`${'😀'.repeat(300)}red${'😀'.repeat(300)}`, 'red')
    expect(snippet.isWellFormed()).toBe(true)
    expect(snippet).toContain('red')
  })
})
