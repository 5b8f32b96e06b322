import { json, type Malformation, ofBody, text, unreadable, unsuitable } from './malformation.js'
import { withHeader } from './shot.js'
import { nastyOf, spoiled } from './spoil.js'

export const ofBodies: Malformation[] = [
  {
    name: 'a value out of place',
    apply: (shot, random, body) => (shot.body ? json(shot, spoiled(body, random)) : shot),
  },
  {
    name: 'two values out of place',
    apply: (shot, random, body) => (shot.body ? json(shot, spoiled(spoiled(body, random), random)) : shot),
  },
  {
    name: 'an unknown field',
    apply: (shot, random, body) =>
      text(shot, JSON.stringify({ ...(body as object), colour_: nastyOf(random) }), [...unsuitable, ...unreadable]),
  },
  {
    name: 'a body of another kind',
    apply: (shot, random) => text(shot, random.pick(['null', '[]', '1', '"text"', 'true']), unsuitable),
  },
  {
    name: 'no JSON',
    apply: (shot, random) =>
      text(
        shot,
        random.pick(['{', '{"a":1', "{'a':1}", 'NaN', '{}{}', '\u0000', '\ufeff{}', '{"a":"\t"}']),
        unreadable,
      ),
  },
  {
    name: 'half of a body',
    apply: (shot) =>
      shot.body ? text(shot, shot.body.subarray(0, Math.floor(shot.body.length / 2)), unreadable) : shot,
  },
  { name: 'no UTF-8', apply: (shot) => text(shot, Buffer.from('{"a":"\xc3\x28"}', 'latin1'), unreadable) },
  {
    name: 'depth',
    apply: (shot, random) => {
      const depth = random.next() < 0.02 ? 300_000 : random.pick([200, 5000])
      return text(shot, `${'['.repeat(depth)}${']'.repeat(depth)}`, unreadable)
    },
  },
  { name: 'a prototype', apply: (shot) => text(shot, '{"__proto__":{"admin":true}}', unreadable) },
  {
    name: 'a body that is too large',
    apply: (shot, random) => {
      if (!shot.body) return shot
      const size = (shot.entry.bodyLimit ?? 1024 * 1024) + 1
      const large = { ...shot, alone: true, codes: ['payload_too_large'] as const }
      if (random.next() < 0.02) return { ...large, body: Buffer.alloc(size, 0x20) }
      return withHeader({ ...large, body: Buffer.alloc(9, 0x20) }, 'Content-Length', String(size))
    },
  },
  {
    name: 'another content type',
    apply: ofBody(
      'Content-Type',
      ['text/plain', 'application/xml', 'application/json; charset=utf-16', 'application/jsonp', ';;=', ''],
      unreadable,
    ),
  },
  {
    name: 'the same content type',
    apply: ofBody('Content-Type', [
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'APPLICATION/JSON',
      'application/json ; charset = utf-8',
    ]),
  },
  {
    name: 'a field twice',
    apply: (shot, random, body) => {
      const [field] = Object.entries(body as object)
      if (!field) return shot
      const other = JSON.stringify(nastyOf(random))
      return text(
        shot,
        JSON.stringify(body).replace(/^\{/, () => `{${JSON.stringify(field[0])}:${other},`),
      )
    },
  },
  {
    name: 'a number beyond all',
    apply: (shot, random, body) => {
      const number = random.pick([
        '1e400',
        '-1e400',
        '1e-400',
        '-0',
        `1${'0'.repeat(400)}`,
        '0.1e1',
        `0.${'3'.repeat(900)}`,
      ])
      return text(
        shot,
        JSON.stringify(body).replace(/:(-?\d+|"text")(?=[,}\]])/, () => `:${number}`),
      )
    },
  },
  {
    name: 'a name that objects have',
    apply: (shot, random) =>
      text(
        shot,
        random.pick([
          '{"constructor":{"prototype":{"admin":true}}}',
          '{"toString":1,"hasOwnProperty":null}',
          '{"\\u0000":1}',
          '{"":{"":""}}',
        ]),
        unsuitable,
      ),
  },
  {
    name: 'a prototype below',
    apply: (shot, _random, body) =>
      text(shot, `{"x":[{"__proto__":{"admin":true}}],${JSON.stringify(body).slice(1)}`.replace(',}', '}'), unreadable),
  },
  {
    name: 'a value that would be kept as another one',
    apply: (shot, random) => {
      const value = random.pick([
        '9007199254740993',
        '-9223372036854775807',
        '9'.repeat(200),
        '"\\ud800"',
        '{"\\udfff":1}',
        '["a\\ude00\\ud83d"]',
      ])
      return text(shot, `{"x":[${value}]}`, unreadable)
    },
  },
  { name: 'a compressed body', apply: ofBody('Content-Encoding', ['gzip', 'br', 'identity, gzip'], unreadable) },
]
