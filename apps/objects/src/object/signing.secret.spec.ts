import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { newId } from '#common/kernel/ids.js'
import { mostSigning, rotated, SigningKey, type SigningState } from './signing.secret.js'

const key = new SigningKey(randomBytes(32))
const at = (ms: number): Date => new Date(ms)

const alone: SigningState = { secret: 1, former_secret: null, former_secret_until: null }

describe('signing secrets', () => {
  const id = newId('obj')
  /** The numbers of those that sign, the newest first. */
  const signing = (state: SigningState, ms: number): number[] => {
    const { current, former } = key.secretsOf({ ...state, id }, at(ms))
    const number = (text: string) =>
      Array.from({ length: 20 }, (_, n) => n).find(
        (n) => key.secretsOf({ ...alone, secret: n, id }, at(0)).current === text,
      )
    return [current, ...former].map((text) => number(text) ?? -1)
  }
  const day = 86_400

  it('are the same each time, and of each object and rotation others', () => {
    const other = newId('obj')
    const secret = (of: string, n: number) => key.secretsOf({ ...alone, id: of, secret: n }, at(0)).current
    expect(secret(id, 1)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(secret(id, 1)).toBe(secret(id, 1))
    expect(new Set([secret(id, 1), secret(id, 2), secret(other, 1)]).size).toBe(3)
  })

  it('overlap until the moment that was named, and no longer', () => {
    const second = rotated(alone, 1, at(0))
    expect(signing(second, 999)).toEqual([2, 1])
    expect(signing(second, 1000)).toEqual([2])
    // as a rotation left it that knew of one former secret alone
    expect(signing({ ...second, former_secret: null }, 999)).toEqual([2, 1])
  })

  it('go on through a second rotation, as long as it says and as was promised before', () => {
    const short = rotated(rotated(alone, 60, at(0)), day, at(1000))
    expect(signing(short, day * 1000)).toEqual([3, 2, 1])
    expect(signing(short, day * 1000 + 1000)).toEqual([3])
    const long = rotated(rotated(alone, day, at(0)), 60, at(1000))
    expect(signing(long, day * 1000 - 1)).toEqual([3, 2, 1])
    expect(signing(long, day * 1000)).toEqual([3])
  })

  it('that sign no more do not come back with the next rotation', () => {
    const second = rotated(alone, 60, at(0))
    expect(signing(rotated(second, day, at(60_000)), 60_000)).toEqual([3, 2])
  })

  it('all end at once with a rotation that has no overlap', () => {
    const third = rotated(rotated(alone, day, at(0)), 0, at(1000))
    expect(signing(third, 1000)).toEqual([3])
    expect(signing(rotated(third, 60, at(2000)), 2000)).toEqual([4, 3])
  })

  it(`are ${mostSigning} at most, the newest`, () => {
    let state = alone
    for (let n = 0; n < 8; n += 1) state = rotated(state, day, at(n))
    expect(signing(state, 10)).toEqual([9, 8, 7, 6, 5])
  })
})
