import { describe, expect, it } from '@jest/globals'
import { systemClock } from '#common/kernel/clock.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { Acceptor } from './acceptor.js'
import type { Outcome, Publication } from './publication.js'

const publication = (name: string, more: Partial<Publication> = {}): Publication => ({
  object_id: name,
  version: 1,
  events: [{ event: 'e', payload: '1', dedupe_key: undefined }],
  bytes: 1,
  key: undefined,
  published_by: '{}',
  request_id: 'r',
  traceparent: null,
  ...more,
})

/** Groups that came, each answered when it is let go; an object named `bad` fails its group. */
const stage = (failure: () => unknown = () => new Error('cannot be written')) => {
  const groups: string[][] = []
  const gates: (() => void)[] = []
  const acceptor = new Acceptor({
    accept: (publications) => {
      const names = publications.map(({ object_id }) => object_id)
      groups.push(names)
      const accepted: Outcome = { kind: 'accepted', answers: [], replayed: false }
      return new Promise((resolve, reject) => {
        gates.push(() => (names.includes('bad') ? reject(failure()) : resolve(names.map(() => accepted))))
      })
    },
  })
  const send = (name: string, ctx: Partial<Context> = {}, more: Partial<Publication> = {}): Promise<string> =>
    acceptor.accept({ ...systemContext('test'), ...ctx }, publication(name, more)).then(
      ({ kind }) => kind,
      (error: Error) => (error instanceof SvcError ? error.code : error.message),
    )
  const go = async (times = 1): Promise<void> => {
    for (let n = 0; n < times; n += 1) {
      await new Promise(setImmediate)
      gates.shift()?.()
    }
    await new Promise(setImmediate)
  }
  return { acceptor, groups, send, go }
}

describe('publications', () => {
  it('go together when they come in one turn, or while others are under way', async () => {
    const { groups, send, go } = stage()
    const sent = [send('a'), send('b')]
    await go(0)
    sent.push(send('c'), send('d'))
    await go(2)
    expect(groups).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
    expect(await Promise.all(sent)).toEqual(Array.from({ length: 4 }, () => 'accepted'))
  })

  it('are no more together than one transaction bears, but one alone may be as large as it is', async () => {
    const { groups, send, go } = stage()
    const large = { bytes: 5 * 1024 * 1024 }
    const sent = [send('a', {}, large), send('b'), ...Array.from({ length: 70 }, () => send('c'))]
    await go(3)
    expect(groups.map(({ length }) => length)).toEqual([1, 64, 7])
    await Promise.all(sent)
  })

  it('that nobody waits for any more are left out, and stop no others', async () => {
    const { groups, send, go } = stage()
    const left = new AbortController()
    const sent = [
      send('a'),
      send('b', { signal: left.signal }),
      send('c', { deadline: systemClock.now() - 1 }),
      send('d'),
    ]
    left.abort()
    await go()
    expect(await Promise.all(sent)).toEqual(['accepted', 'client_closed', 'deadline_exceeded', 'accepted'])
    expect(groups).toEqual([['a', 'd']])
  })

  it('are accepted beside one that cannot be written', async () => {
    const { send, go } = stage()
    const sent = ['a', 'b', 'bad', 'c', 'd'].map((name) => send(name))
    await go(7)
    expect(await Promise.all(sent)).toEqual(['accepted', 'accepted', 'cannot be written', 'accepted', 'accepted'])
  })

  it('hear at once of a database that is away, which is asked once for all of them', async () => {
    const { groups, send, go } = stage(() => new SvcError('service_unavailable'))
    const sent = ['a', 'bad', 'b'].map((name) => send(name))
    await go()
    expect(await Promise.all(sent)).toEqual(sent.map(() => 'service_unavailable'))
    expect(groups).toHaveLength(1)
  })

  it('are refused when more of them wait than can be written soon, and taken again after that', async () => {
    const { acceptor, send, go } = stage()
    const sent = [send('a')]
    await go(0)
    sent.push(...Array.from({ length: 2000 }, () => send('b')))
    expect(() => acceptor.accept(systemContext('test'), publication('c'))).toThrow(
      expect.objectContaining({ code: 'rate_limited', fields: { retry_after_ms: expect.any(Number) } }),
    )
    await go(40)
    expect(new Set(await Promise.all(sent))).toEqual(new Set(['accepted']))
    const later = send('c')
    await go()
    expect(await later).toBe('accepted')
  })

  it('are all through when it has stopped', async () => {
    const { acceptor, send, go } = stage()
    const sent = send('a')
    const stopped = acceptor.stop()
    await go()
    await stopped
    expect(await sent).toBe('accepted')
  })
})
