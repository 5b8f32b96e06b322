import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { hasCode } from './errors.js'
import { checkScopes, covers, exceeding, formatScope, intersect, normalise, parseScope } from './scopes.js'

const id = fc.constantFrom('app_a', 'app_b')
const dir = fc.constantFrom('/', '/a', '/a/b', '/ab', '/a/b/c', '/c')
const place = fc.constantFrom('notes', 'notes/x', 'notesx', 'y')
const level = fc.constantFrom('read', 'rw')
const scope = fc.oneof(
  fc.constantFrom('svc:llm', 'svc:act', 'svc:schedule', 'svc:files:share', 'svc:memory:manage:user', 'github:issues'),
  level.map((at) => `svc:memory:${at}:user`),
  fc.tuple(level, place).map(([at, path]) => `svc:memory:${at}:user:${path}`),
  fc.tuple(level, id).map(([at, app]) => `svc:memory:${at}:app:${app}`),
  fc
    .tuple(level, id, fc.constantFrom('p', 'q'))
    .map(([at, app, profile]) => `svc:memory:${at}:app:${app}:profile:${profile}`),
  fc.tuple(level, dir).map(([at, path]) => `svc:files:${at}:user:${path}`),
  fc.tuple(level, id, dir).map(([at, app, path]) => `svc:files:${at}:app:${app}:${path}`),
  fc.tuple(fc.constantFrom('conversations', 'objects'), id).map(([family, app]) => `svc:${family}:read:app:${app}`),
)
const list = fc.oneof(
  { weight: 9, arbitrary: fc.array(scope, { maxLength: 6 }) },
  { weight: 1, arbitrary: fc.constant(['*']) },
)

describe('the algebra of scopes', () => {
  it('intersects to exactly what both lists cover', () => {
    fc.assert(
      fc.property(list, list, scope, (a, b, wanted) => {
        expect(covers(intersect(a, b), wanted)).toBe(covers(a, wanted) && covers(b, wanted))
      }),
      { numRuns: 2000 },
    )
  })

  it('normalises without changing what a list covers', () => {
    fc.assert(fc.property(list, scope, (a, wanted) => expect(covers(normalise(a), wanted)).toBe(covers(a, wanted))))
  })

  it('normalises to one spelling that stays', () => {
    fc.assert(
      fc.property(list, (a) => {
        expect(normalise(normalise(a))).toEqual(normalise(a))
        expect(normalise([...a].reverse())).toEqual(normalise(a))
      }),
    )
  })

  it('covers reflexively and transitively', () => {
    fc.assert(
      fc.property(scope, scope, scope, (a, b, c) => {
        expect(covers([a], a)).toBe(true)
        if (covers([a], b) && covers([b], c)) expect(covers([a], c)).toBe(true)
      }),
      { numRuns: 3000 },
    )
  })

  it('lets a child never regain what its parent dropped', () => {
    fc.assert(
      fc.property(list, list, scope, (parent, asked, wanted) => {
        if (!covers(parent, wanted)) expect(covers(intersect(parent, asked), wanted)).toBe(false)
      }),
    )
  })

  it('reads back what it writes', () => {
    const rules = { knowsTool: () => true }
    fc.assert(
      fc.property(scope, (text) =>
        expect(parseScope(formatScope(parseScope(text, rules)), rules)).toEqual(parseScope(text, rules)),
      ),
    )
  })
})

describe('one scope', () => {
  it.each([
    ['svc:files:rw:user:/srv', 'svc:files:read:user:/srv/x', true],
    ['svc:files:read:user:/srv', 'svc:files:rw:user:/srv', false],
    ['svc:files:rw:user:/srv', 'svc:files:rw:user:/srvers', false],
    ['svc:files:read:user:/a//b/./c', 'svc:files:read:user:/a/b/c', true],
    ['svc:memory:manage:user', 'svc:memory:rw:user:notes/x', true],
    ['svc:memory:rw:user:notes', 'svc:memory:read:user', false],
    ['svc:memory:rw:app:a', 'svc:memory:read:app:a:profile:p', true],
    ['svc:memory:rw:app:a:profile:p', 'svc:memory:read:app:a', false],
    ['*', 'svc:schedule', true],
  ])('%s against %s: %s', (held, wanted, answer) => expect(covers([held], wanted)).toBe(answer))

  it.each([
    'ask',
    'act',
    'schedule',
    'memory:read',
    'memory:write',
    'llm',
    '',
    'svc:',
    'svc:LLM',
    'svc:unknown',
    'svc:memory:read',
    'svc:memory:read:app',
    'svc:memory:manage:app:x',
    'svc:memory:manage:user:x',
    'svc:files:read:user',
    'svc:files:read:user:rel',
    'svc:files:rw:user:/a/../b',
    'svc:conversations:rw:app:x',
    'svc:objects:read:user',
    'svc:files:manage:user:/a',
    'svc:conversations:read:app:x:profile:p',
    'github:issues',
    'constructor',
    'svc:llm ',
    'svc:files:read:user:/a\0b',
  ])('refuses %j as unknown', (text) => {
    expect(() => parseScope(text)).toThrow(expect.objectContaining({ code: 'validation_failed' }))
  })
})

describe('a list that somebody asks for', () => {
  it('may hold svc:act only with svc:llm', () => {
    expect(() => checkScopes(['svc:act'])).toThrow('svc:act requires svc:llm')
    expect(checkScopes(['svc:llm', 'svc:act', 'svc:llm'])).toEqual(['svc:act', 'svc:llm'])
  })

  it('may be empty', () => expect(checkScopes([])).toEqual([]))

  it('names what lies outside the ceiling', () => {
    expect(exceeding(['svc:llm', 'svc:files:rw:user:/a'], ['svc:llm', 'svc:files:read:user:/'])).toEqual([
      'svc:files:rw:user:/a',
    ])
  })

  it('points at the unknown scope', () => {
    try {
      checkScopes(['svc:llm', 'nonsense'])
      throw new Error('was accepted')
    } catch (error) {
      expect(hasCode(error, 'validation_failed') && error.fields.errors).toEqual([
        { pointer: '/scopes', message: '"nonsense" is not a scope' },
      ])
    }
  })
})
