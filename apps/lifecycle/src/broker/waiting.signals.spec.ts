import { describe, expect, it } from '@jest/globals'
import { take } from '#common/testing/wait-for.js'
import { WaitingSignals } from './waiting.signals.js'

const mail = (urgent: boolean, critical = false) => ({ type: 'mail' as const, urgent, critical })

describe('signals that wait', () => {
  // A thousand announcements of mail once filled the queue of a slow broker, and its interrupt was dropped.
  it('are one of a kind, the strictest of the mail, and what ends work comes first', async () => {
    const waiting = new WaitingSignals()
    for (let at = 0; at < 1000; at += 1) waiting.put(mail(at === 3))
    waiting.put({ type: 'interrupt', request: 1 })
    waiting.put({ type: 'interrupt', request: 2 })
    waiting.put({ type: 'stop', reason: 'canceled' })
    expect(await take(waiting, 3)).toEqual([
      { type: 'stop', reason: 'canceled' },
      { type: 'interrupt', request: 2 },
      mail(true),
    ])
  })

  it('that come later wake the reader', async () => {
    const waiting = new WaitingSignals()
    const reading = take(waiting, 2)
    waiting.put(mail(false))
    await Promise.resolve()
    waiting.put({ type: 'interrupt', request: 1 })
    expect(new Set((await reading).map(({ type }) => type))).toEqual(new Set(['mail', 'interrupt']))
  })

  it('end with their reader', async () => {
    const waiting = new WaitingSignals()
    const next = waiting[Symbol.asyncIterator]().next()
    waiting.end()
    expect(await next).toEqual({ done: true, value: undefined })
  })
})
