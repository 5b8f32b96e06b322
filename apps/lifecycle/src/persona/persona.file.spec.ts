import { describe, expect, it } from '@jest/globals'
import { readPersona } from './persona.file.js'

const file = (matter: string, body = 'You sail.'): string => `---\n${matter}\n---\n${body}\n`
const fault = (text: string): string => {
  try {
    readPersona(text)
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it was taken')
}

describe('a persona', () => {
  it('is front matter and a role', () => {
    const text = file(
      'description: "Sails ships"\n# a note\nstrength: strong\nmode: base\nlifecycle: resident\ntools: [read, "search"]',
    )
    expect(readPersona(text)).toEqual({
      role: 'You sail.',
      description: 'Sails ships',
      strength: 'strong',
      mode: 'base',
      lifecycle: 'resident',
      tools: ['read', 'search'],
    })
    expect(readPersona('\ufeff---\r\n---\r\nYou sail.\r\nFar.')).toEqual({
      role: 'You sail.\nFar.',
      description: '',
      strength: null,
      mode: null,
      lifecycle: null,
    })
  })

  it('says what is wrong, and where', () => {
    expect(fault('You sail.')).toMatch(/must begin with front matter/)
    expect(fault('---\nstrength: light\nYou sail.')).toMatch(/no end/)
    expect(fault(file('strength: light', ' '))).toMatch(/nothing stands after/)
    expect(fault(file('description: x\nstrength: huge'))).toBe(
      'strength is "huge"; it must be one of light, medium, strong, ultra',
    )
    expect(fault(file('mode: boss'))).toMatch(/mode is "boss"/)
    expect(fault(file('description: x\nmodel: big'))).toBe(
      'line 3 names "model"; it takes description, strength, mode, lifecycle, tools',
    )
    expect(fault(file('strength:'))).toBe('line 2: strength is empty')
    expect(fault(file('mode: base\nmode: base'))).toMatch(/line 3 names mode once more/)
    expect(fault(file('- read'))).toMatch(/line 2 is not of the form/)
    expect(fault(file('tools: read, sail'))).toMatch(/^tools names "sail", and there is no such tool; there are: bash/)
  })
})
