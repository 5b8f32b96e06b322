import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { newId } from '#common/kernel/ids.js'
import { SigningKey } from './signing.secret.js'

const key = new SigningKey(randomBytes(32))
const at = (ms: number): Date => new Date(ms)

describe('signing secrets', () => {
  it('are the same each time, and of each object and rotation others', () => {
    const [id, other] = [newId('obj'), newId('obj')]
    const secret = (of: string, n: number) =>
      key.secretsOf({ id: of, secret: n, former_secret_until: null }, at(0)).current
    expect(secret(id, 1)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(secret(id, 1)).toBe(secret(id, 1))
    expect(new Set([secret(id, 1), secret(id, 2), secret(other, 1)]).size).toBe(3)
  })

  it('overlap until the moment that was named, and no longer', () => {
    const object = { id: newId('obj'), secret: 2, former_secret_until: at(1000) }
    const before = key.secretsOf({ ...object, secret: 1, former_secret_until: null }, at(0)).current
    expect(key.secretsOf(object, at(999)).former).toBe(before)
    expect(key.secretsOf(object, at(1000)).former).toBeUndefined()
  })
})
