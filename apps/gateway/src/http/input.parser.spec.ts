import { describe, expect, it } from '@jest/globals'
import { preferredWait } from './input.parser.js'

describe('Prefer', () => {
  it.each([
    ['wait=7', 7],
    ['respond-async, wait=7', 7],
    ['wait="9"; foo', 9],
    ['wait=600', 60],
    ['await=7', undefined],
    ['wait=x', undefined],
    [undefined, undefined],
  ])('%j means a wait of %j seconds', (header, seconds) => expect(preferredWait(header)).toBe(seconds))
})
