import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { credentialKey, seal, unseal } from './credential.cipher.js'
import { CredentialKeyring } from './credential.keyring.js'
import { lastFourOf, materialText, parseMaterial, secretsOf } from './credential.material.js'

const key = credentialKey(Buffer.alloc(32, 1))

describe('a sealed credential', () => {
  it('opens with its key, for its provider, unchanged', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (provider, text) =>
        expect(unseal(key, provider, seal(key, provider, text))).toBe(text),
      ),
    )
  })

  it('never looks the same twice', () => {
    expect(seal(key, 'openai', 'secret').ciphertext).not.toEqual(seal(key, 'openai', 'secret').ciphertext)
  })

  it('does not open for another provider, with another key, or with a byte changed', () => {
    const sealed = seal(key, 'openai', 'secret')
    expect(() => unseal(key, 'anthropic', sealed)).toThrow()
    expect(() => unseal(credentialKey(Buffer.alloc(32, 2)), 'openai', sealed)).toThrow()
    const changed = Buffer.from(sealed.ciphertext)
    changed[0] = (changed[0] as number) ^ 1
    expect(() => unseal(key, 'openai', { ...sealed, ciphertext: changed })).toThrow()
    expect(() => unseal(key, 'openai', { ...sealed, tag: sealed.tag.subarray(0, 8) })).toThrow()
  })

  it('needs a key of 32 bytes', () => {
    expect(() => credentialKey(Buffer.alloc(16))).toThrow('32 bytes')
  })
})

describe('the file of keys', () => {
  let directory: string
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'svc-keys-'))
  })
  afterEach(() => rmSync(directory, { recursive: true }))
  const path = () => join(directory, 'keys/credentials.key')

  it('is made at the first use, for its owner alone, and read by every later process', () => {
    const made = new CredentialKeyring(path()).current()
    expect(statSync(path()).mode & 0o777).toBe(0o600)
    expect(new CredentialKeyring(path()).current()).toEqual(made)
  })

  it('keeps the old key until a rotation is finished', () => {
    const ring = new CredentialKeyring(path())
    const old = ring.current()
    const next = credentialKey(randomBytes(32))
    ring.add(next)
    const other = new CredentialKeyring(path())
    expect([other.current(), other.find(old.id)]).toEqual([next, old])
    ring.forgetOld()
    expect(new CredentialKeyring(path()).find(old.id)).toBeUndefined()
    expect(readFileSync(path(), 'utf8').trim().split('\n')).toHaveLength(1)
  })

  it('is read again when another process has put a new key in', () => {
    const here = new CredentialKeyring(path())
    here.current()
    const next = credentialKey(randomBytes(32))
    new CredentialKeyring(path()).add(next)
    expect(here.find(next.id)).toEqual(next)
  })
})

describe('what a credential holds', () => {
  it('is stored without its label and read back', () => {
    const material = {
      kind: 'oauth' as const,
      access_token: 'a'.repeat(20),
      refresh_token: 'r'.repeat(20),
      label: 'mine',
    }
    expect(parseMaterial(materialText(material))).toEqual({
      kind: 'oauth',
      access_token: 'a'.repeat(20),
      refresh_token: 'r'.repeat(20),
    })
    expect(secretsOf(material)).toHaveLength(2)
  })

  it('shows its last four characters, unless it is too short to', () => {
    expect(lastFourOf({ kind: 'api_key', api_key: 'sk-0123456789' })).toBe('6789')
    expect(lastFourOf({ kind: 'api_key', api_key: 'short' })).toBeNull()
  })
})
