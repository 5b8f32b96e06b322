import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ConsumerLog } from './consumer.log.js'

let directory: string
let log: ConsumerLog
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-consumer-'))
  writeFileSync(join(directory, 'log'), '')
  log = new ConsumerLog(join(directory, 'log'))
})
afterEach(() => {
  log.close()
  rmSync(directory, { recursive: true })
})

const note = (...lines: string[]): ConsumerLog => {
  appendFileSync(join(directory, 'log'), lines.map((line) => `${line}\n`).join(''))
  return log.read()
}

describe('the log of a consumer', () => {
  it('accepts what comes again because nobody knew that it was acknowledged', () => {
    const { violations, fresh, again, acked } = note(
      'began',
      'received 1 p1 1',
      'acked 1',
      'received 2 p2 1',
      'received 3 p1 2',
      'began',
      'received 2 p2 1',
      'received 3 p1 2',
      'received 4 p1 3',
      'acked 2 3 4',
    )

    expect({ violations, fresh, again, acked }).toEqual({ violations: [], fresh: 4, again: 2, acked: 4 })
  })

  it('reads a line whose end comes later', () => {
    appendFileSync(join(directory, 'log'), 'began\nreceived 1 p')
    log.read()

    expect(note('1 1').fresh).toBe(1)
  })

  it.each([
    ['leaves one out', ['received 1 p1 1', 'received 3 p1 3'], '3 came first after 1'],
    ['gives one twice in a life', ['received 1 p1 1', 'received 1 p1 1'], '1 came after 1'],
    ['gives one that was acknowledged', ['received 1 p1 1', 'acked 1', 'began', 'received 1 p1 1'], '1 came again'],
    ['changes the order of a publisher', ['received 1 p1 2', 'received 2 p1 1'], 'p1’s event 2 came first after its 0'],
  ])('tells of a queue that %s', (_, lines, sentence) => {
    expect(note('began', ...lines).violations).toContainEqual(expect.stringContaining(sentence))
  })
})
