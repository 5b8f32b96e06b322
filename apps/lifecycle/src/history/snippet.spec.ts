import { describe, expect, it } from '@jest/globals'
import { highlighted } from './snippet.js'

describe('highlighted', () => {
  it('says where the words stand', () => {
    const { snippet, highlights } = highlighted('a \u0002red\u0003 fox, \u0002red\u0003 again')
    expect(snippet).toBe('a red fox, red again')
    expect(highlights.map(([from, to]) => snippet.slice(from, to))).toEqual(['red', 'red'])
  })

  it('takes a text without any as it is', () => {
    expect(highlighted('plain')).toEqual({ snippet: 'plain', highlights: [] })
  })
})
