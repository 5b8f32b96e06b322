import { describe, expect, it } from '@jest/globals'
import { LineReader } from './line.reader.js'
import { controlLease, ViewerControl } from './viewer.control.js'

describe('control of a node', () => {
  it('lasts as long as its holder is heard', () => {
    let now = 0
    const control = new ViewerControl<string>(() => now)
    expect([control.take('a'), control.take('b'), control.take('a')]).toEqual([true, false, true])
    now += controlLease - 1
    expect(control.hear('a')).toBe(true)
    now += controlLease - 1
    expect([control.holder, control.take('b')]).toEqual(['a', false])
    now += 1
    expect([control.holder, control.hear('a'), control.take('b'), control.take('a')]).toEqual([
      undefined,
      false,
      true,
      false,
    ])
  })

  it('is free when its holder leaves, and when nobody else does', () => {
    const control = new ViewerControl<string>(() => 0)
    control.take('a')
    expect([control.leave('b'), control.holder, control.leave('a'), control.holder]).toEqual([
      false,
      'a',
      true,
      undefined,
    ])
  })
})

describe('lines', () => {
  it('are the same however they are cut; a long one is told once and the next is read', () => {
    const whole = `one\n\n${'x'.repeat(30)}\ntwo\nthree`
    for (let size = 1; size < whole.length; size += 1) {
      const found: string[] = []
      const reader = new LineReader(
        10,
        (line) => found.push(line),
        () => found.push('!'),
      )
      for (let at = 0; at < whole.length; at += size) reader.push(whole.slice(at, at + size))
      expect(found).toEqual(['one', '!', 'two'])
    }
  })
})
