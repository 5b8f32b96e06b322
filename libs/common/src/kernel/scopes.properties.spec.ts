import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { checkScopes, covers, exceeding, formatScope, intersect, normalise, parseScope } from './scopes.js'

const rules = { knowsTool: () => true }
const parse = (text: string) => parseScope(text, rules)
const spelled = (text: string): string => formatScope(parse(text))

/** Names that are prefixes of each other, and one that looks like a word of the grammar. */
const name = fc.constantFrom('a', 'ab', 'a.b', 'app_01', 'profile', 'user', 'A')
const segment = fc.constantFrom('a', 'ab', 'a b', 'ä', 'a\u0308', '%2e%2e', '...', '.a', ':', 'profile:p', '\\..', '\n')
const tail = fc.array(segment, { maxLength: 3 }).map((segments) => segments.join('/'))
const dir = tail.map((text) => `/${text}`)
const place = fc.array(segment, { minLength: 1, maxLength: 3 }).map((segments) => segments.join('/'))
const level = fc.constantFrom('read', 'rw')
const profile = fc.option(name, { nil: undefined }).map((text) => (text === undefined ? '' : `:profile:${text}`))
const scope = fc.oneof(
  fc.constantFrom('svc:llm', 'svc:act', 'svc:schedule', 'svc:files:share', 'svc:memory:manage:user'),
  fc.tuple(name, name).map(([provider, group]) => `${provider}:${group}`),
  level.map((at) => `svc:memory:${at}:user`),
  fc.tuple(level, place).map(([at, path]) => `svc:memory:${at}:user:${path}`),
  fc.tuple(level, name, profile).map(([at, app, of]) => `svc:memory:${at}:app:${app}${of}`),
  fc.tuple(level, dir).map(([at, path]) => `svc:files:${at}:user:${path}`),
  fc.tuple(level, name, dir).map(([at, app, path]) => `svc:files:${at}:app:${app}:${path}`),
  fc.tuple(fc.constantFrom('conversations', 'objects'), name).map(([family, app]) => `svc:${family}:read:app:${app}`),
)
const list = fc.oneof(
  { weight: 9, arbitrary: fc.array(scope, { maxLength: 8 }) },
  { weight: 1, arbitrary: fc.constant(['*']) },
)
const holds = <Ts extends [unknown, ...unknown[]]>(property: fc.IPropertyWithHooks<Ts>, numRuns = 1000): void =>
  fc.assert(property, { numRuns })

describe('covering', () => {
  it('is reflexive, in any spelling', () =>
    holds(fc.property(scope, (a) => covers([a], spelled(a)) && covers([spelled(a)], a))))

  it('is transitive', () =>
    holds(
      fc.property(scope, scope, scope, (a, b, c) => !(covers([a], b) && covers([b], c)) || covers([a], c)),
      2500,
    ))

  it('both ways means one spelling', () =>
    holds(
      fc.property(scope, scope, (a, b) => (covers([a], b) && covers([b], a)) === (spelled(a) === spelled(b))),
      2500,
    ))

  it('of lists is transitive too', () =>
    holds(
      fc.property(list, list, scope, (a, b, wanted) => {
        const within = b.every((entry) => covers(a, entry))
        return !within || !covers(b, wanted) || covers(a, wanted)
      }),
      1500,
    ))

  it('of more entries is never less', () =>
    holds(fc.property(list, list, scope, (a, b, wanted) => !covers(a, wanted) || covers([...a, ...b], wanted))))

  it("never gives anybody the owner's own", () =>
    holds(fc.property(fc.array(scope), (a) => !covers(a, '*') && covers(['*'], '*'))))
})

describe('the intersection', () => {
  const same = (a: string[], b: string[]): void => expect(a).toEqual(b)

  it('is the greatest that lies within both', () =>
    holds(
      fc.property(list, list, list, (a, b, c) => {
        const both = intersect(a, b)
        expect(both.every((entry) => covers(a, entry) && covers(b, entry))).toBe(true)
        if (c.every((entry) => covers(a, entry) && covers(b, entry)))
          expect(c.every((entry) => covers(both, entry))).toBe(true)
      }),
      1500,
    ))

  it('permits exactly what both permit', () =>
    holds(
      fc.property(list, list, scope, (a, b, wanted) =>
        expect(covers(intersect(a, b), wanted)).toBe(covers(a, wanted) && covers(b, wanted)),
      ),
      2500,
    ))

  it('is the same either way round', () =>
    holds(fc.property(list, list, (a, b) => same(intersect(a, b), intersect(b, a)))))

  it('is the same however it is bracketed', () =>
    holds(
      fc.property(list, list, list, (a, b, c) => same(intersect(intersect(a, b), c), intersect(a, intersect(b, c)))),
    ))

  it('with itself is itself', () => holds(fc.property(list, (a) => same(intersect(a, a), normalise(a)))))

  it('with everything is itself, and with nothing nothing', () =>
    holds(
      fc.property(list, (a) => {
        same(intersect(a, ['*']), normalise(a))
        same(intersect(a, []), [])
      }),
    ))

  it('with what lies within is that', () =>
    holds(
      fc.property(list, list, (a, b) => {
        const within = intersect(a, b)
        same(intersect(within, a), within)
      }),
    ))
})

describe('the one spelling', () => {
  it('of a scope is read back as the same scope', () =>
    holds(fc.property(scope, (a) => expect(parse(spelled(a))).toEqual(parse(a)))))

  it('of a list stays, in whatever order it was given', () =>
    holds(
      fc.property(list, (a) => {
        expect(normalise(normalise(a))).toEqual(normalise(a))
        expect(normalise([...a].reverse())).toEqual(normalise(a))
        expect(normalise([...a, ...a])).toEqual(normalise(a))
      }),
    ))

  it('of a list permits what the list permits', () =>
    holds(fc.property(list, scope, (a, wanted) => covers(normalise(a), wanted) === covers(a, wanted))))

  it('holds no entry that another one covers', () =>
    holds(
      fc.property(list, (a) => {
        const kept = normalise(a)
        return kept.every((entry, at) => !covers(kept.toSpliced(at, 1), entry))
      }),
    ))
})

describe('a ceiling', () => {
  it('is exceeded exactly by what it does not cover', () =>
    holds(
      fc.property(list, list, (wanted, ceiling) =>
        expect(exceeding(wanted, ceiling)).toEqual(wanted.filter((entry) => !covers(ceiling, entry))),
      ),
    ))
})

describe('levels', () => {
  it.each([
    ['svc:memory:read:user', 'svc:memory:rw:user'],
    ['svc:memory:rw:user', 'svc:memory:manage:user'],
    ['svc:memory:read:app:a', 'svc:memory:rw:app:a'],
    ['svc:memory:read:app:a:profile:p', 'svc:memory:rw:app:a:profile:p'],
    ['svc:files:read:user:/a', 'svc:files:rw:user:/a'],
    ['svc:files:read:app:a:/a', 'svc:files:rw:app:a:/a'],
  ])('%s is less than %s', (less, more) => {
    expect(covers([more], less)).toBe(true)
    expect(covers([less], more)).toBe(false)
  })
})

describe('directories', () => {
  const over = (held: string, wanted: string): boolean =>
    covers([`svc:files:read:user:${held}`], `svc:files:read:user:${wanted}`)

  it('cover what lies beneath them', () =>
    holds(fc.property(dir, place, (held, beneath) => over(held, `${held}/${beneath}`))))

  it('never cover what lies above or beside them', () => {
    expect(over('/srv/a', '/srv')).toBe(false)
    expect(over('/srv/a', '/')).toBe(false)
    holds(fc.property(dir, (held) => spelled(`svc:files:read:user:${held}`).endsWith(':/') || !over(held, `${held}x`)))
  })

  it("of an app are not the person's, nor another app's", () => {
    expect(covers(['svc:files:rw:user:/'], 'svc:files:read:app:a:/x')).toBe(false)
    expect(covers(['svc:files:rw:app:a:/'], 'svc:files:read:user:/x')).toBe(false)
    expect(covers(['svc:files:rw:app:a:/'], 'svc:files:read:app:ab:/x')).toBe(false)
  })

  it('in two ways of writing a letter are two directories, as they are on disk', () => {
    expect(over('/ä', '/a\u0308')).toBe(false)
  })

  it('are not decoded', () => {
    expect(over('/a', '/a/%2e%2e/b')).toBe(true)
    expect(spelled('svc:files:read:user:/a/%2e%2e/b')).toBe('svc:files:read:user:/a/%2e%2e/b')
  })
})

describe('the profile of an app', () => {
  const app = 'svc:memory:rw:app:a'

  it('narrows the app to itself', () => {
    expect(covers([app], `${app}:profile:p`)).toBe(true)
    expect(covers([`${app}:profile:p`], app)).toBe(false)
    expect(covers([`${app}:profile:p`], `${app}:profile:pp`)).toBe(false)
    expect(intersect([app], ['svc:memory:read:app:a:profile:p'])).toEqual(['svc:memory:read:app:a:profile:p'])
    expect(intersect([`${app}:profile:p`], [`${app}:profile:q`])).toEqual([])
  })
})

describe('hostile text', () => {
  const refused = (text: string): void =>
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'validation_failed' }))

  it.each([
    'svc:files:read:user:/a/..',
    'svc:files:read:user:/..',
    'svc:files:read:user:/a/../../etc',
    'svc:files:read:user:a',
    'svc:files:read:user:~',
    'svc:files:read:user:/a\0',
    'svc:files:read:user:/\ud800',
    'svc:files:read:app:a:profile:p:/x',
    'svc:memory:read:user:..',
    'svc:memory:read:user:notes/../secret',
    'svc:memory:read:user:/',
    'svc:memory:read:user:.',
    'svc:memory:read:app:a:profile:',
    'svc:memory:read:app:a:profile',
    'svc:memory:read:app::profile:p',
    'svc:memory:read:app:../a',
    'svc:memory:read:app:a/b',
    'svc:memory:read:app:a:notes',
    'svc:memory:read:app:ä',
    'svc:files:share:x',
    'svc:llm\n',
    ' svc:llm',
    '\u200bsvc:llm',
    'ѕvc:llm',
    'svc:act:',
    'svc:**',
    'svc:*',
    '*:*',
    '**',
    'svc:x',
    'svc:toString',
    '__proto__',
    'a:b:c',
    '%73vc:llm',
  ])('%j is no scope', refused)

  it('of any kind is refused as what it is, or read', () =>
    holds(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.string().map((text) => `svc:files:read:user:/${text}`),
        ),
        (text) => {
          try {
            return spelled(spelled(text)) === spelled(text)
          } catch (error) {
            return (error as { code?: string }).code === 'validation_failed'
          }
        },
      ),
      1500,
    ))

  it('of any length is refused, and named in short', () => {
    for (const text of ['a'.repeat(1_000_000), `svc:files:read:user:/${'a'.repeat(1_000_000)}`]) {
      refused(text)
      expect(() => parse(text)).toThrow(expect.objectContaining({ message: expect.stringMatching(/^.{1,300}$/s) }))
    }
  })

  it('takes a time in proportion, whatever it repeats', () => {
    const began = performance.now()
    const pieces = ['a', ':', 'svc:', '/', './', 'a.', 'app:a:profile:', '%2e', '\n']
    for (const piece of pieces) {
      for (const start of ['', 'svc:memory:read:app:', 'svc:memory:read:app:a:profile:', 'svc:files:rw:user:/']) {
        const text = start + piece.repeat(4200 / piece.length)
        for (let at = 0; at < 20; at += 1) {
          try {
            parse(text)
          } catch {
            expect(text).not.toBe('')
          }
        }
      }
    }
    // 720 looks of some 50 µs each; one that goes back over what it has read would take hours
    expect(performance.now() - began).toBeLessThan(20_000)
  })

  it('of lists as long as a request may send them is worked through', () => {
    const chain = Array.from({ length: 200 }, (_, at) => `svc:files:rw:user:${'/d'.repeat(at + 1)}`)
    const wide = Array.from({ length: 200 }, (_, at) => `svc:files:read:user:/d${at}`)
    expect(intersect(chain, chain)).toEqual(['svc:files:rw:user:/d'])
    expect(intersect(wide, [...wide].reverse())).toEqual([...wide].sort())
    expect(intersect(chain, wide)).toEqual([])
  })
})

describe('a list that somebody asks for', () => {
  it("is never the owner's own", () => {
    expect(() => checkScopes(['*'])).toThrow('"*" is not a scope')
    expect(() => checkScopes(['svc:llm', '*'])).toThrow('"*" is not a scope')
  })

  it('names no tool that is not configured', () => {
    expect(() => checkScopes(['github:issues'])).toThrow('"github:issues" is not a scope')
    const some = { knowsTool: (provider: string, group: string) => provider === 'github' && group === 'issues' }
    expect(checkScopes(['github:issues'], some)).toEqual(['github:issues'])
    expect(() => checkScopes(['github:pulls'], some)).toThrow('"github:pulls" is not a scope')
  })
})
