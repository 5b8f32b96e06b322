import { describe, expect, it } from '@jest/globals'
import { exitText } from './exit.text.js'

const exited = (detail: string | null) => exitText({ signal: null, exit_code: 1, detail })

describe('how a process ended', () => {
  it('is its signal or its exit code', () => {
    expect(exitText({ signal: 'SIGKILL', exit_code: null, detail: null })).toBe('its process was killed by SIGKILL')
    expect(exited(null)).toBe('its process exited with 1')
  })

  // People were shown the tail of a stack: "its process was exited with 1: 65:10)", and five lines of frames.
  it('is told with its last words, without the frames of a stack', () => {
    const frames =
      '    at failureOf (file:///x/broker.mjs:835:10)\n    at async readJson (file:///x/broker.mjs:804:27)\n'
    expect(exited(`65:10)\n${frames}`)).toBe('its process exited with 1')
    expect(exited(`65:10)\n${frames}it gives up: no memory\n`)).toBe(
      'its process exited with 1: it gives up: no memory',
    )
    expect(exited(`Error: no memory\n${frames}\nNode.js v24.21.0\n`)).toBe(
      'its process exited with 1: Error: no memory',
    )
    expect(exited('x'.repeat(5000))).toHaveLength('its process exited with 1: '.length + 300)
  })
})
