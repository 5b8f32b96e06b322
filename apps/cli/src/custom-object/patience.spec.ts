import { describe, expect, it } from '@jest/globals'
import { ConnectionError, errorOf, TimeoutError } from '#sdk/index.js'
import { Patience } from './patience.js'

const limited = errorOf(429, { code: 'rate_limited' }, undefined, 40_000)
const full = errorOf(429, { code: 'queue_full' }, undefined, 1000)
const away = new ConnectionError('cannot reach it')
const wrong = errorOf(422, { code: 'event_not_declared' })

const patient = () => {
  const [notes, pauses]: [string[], number[]] = [[], []]
  const patience = new Patience(
    (text) => notes.push(text),
    async (ms) => void pauses.push(ms),
  )
  const send = (...failures: Error[]) => {
    const left = [...failures]
    return patience.send(
      async () => {
        const failure = left.shift()
        if (failure) throw failure
        return 'done'
      },
      () => undefined,
    )
  }
  return { notes, pauses, send }
}

describe('lines that are published', () => {
  it('wait as long as the daemon says, and a wait of more than a few seconds is told', async () => {
    const { notes, pauses, send } = patient()
    expect(await send(limited, limited, limited, limited)).toBe('done')
    expect(pauses).toEqual([40_000, 40_000, 40_000, 40_000])
    expect(notes[0]).toBe('too many requests: going on in 40 s')
    const quick = patient()
    await quick.send(errorOf(429, { code: 'rate_limited' }, undefined, 2000))
    expect(quick.notes).toEqual([])
  })

  it('wait for a daemon that is away once it has answered, and not before', async () => {
    const { notes, send } = patient()
    await expect(send(away, away, away)).rejects.toBe(away)
    await expect(send(new TimeoutError(5))).rejects.toThrow('no answer')
    expect(await send(away, away)).toBe('done')
    expect(notes).toEqual([])
    expect(await send(new TimeoutError(5), ...Array.from({ length: 50 }, () => away))).toBe('done')
    expect(notes).toEqual(['no answer of the daemon: trying again until there is one'])
  })

  it('wait for no full queue, and repeat nothing that is refused', async () => {
    const { pauses, send } = patient()
    await send()
    await expect(send(full, full, full)).rejects.toBe(full)
    expect(pauses).toEqual([1000, 1000])
    await expect(send(wrong)).rejects.toBe(wrong)
    const unfit = errorOf(503, { code: 'version_mismatch' })
    await expect(send(unfit)).rejects.toBe(unfit)
    expect(pauses).toHaveLength(2)
  })
})
