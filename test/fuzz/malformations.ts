import type { ErrorCode } from '#common/contract/errors.js'
import type { Random } from '../chaos/random.js'
import type { Json } from './sample.js'
import { type Shot, withHeader } from './shot.js'
import { nasties, spoiled } from './spoil.js'

/** Makes a sound request unsound, or leaves it alone where it has nothing to take hold of. */
export interface Malformation {
  readonly name: string
  readonly apply: (shot: Shot, random: Random, body: Json) => Shot
}

const text = (shot: Shot, body: string | Uint8Array, codes?: readonly ErrorCode[]): Shot =>
  shot.body ? { ...shot, body: Buffer.from(body as string), ...(codes && { codes }) } : shot

const json = (shot: Shot, body: Json): Shot => text(shot, JSON.stringify(body))

const header =
  (name: string, values: readonly string[], codes?: readonly ErrorCode[], also?: readonly ErrorCode[]) =>
  (shot: Shot, random: Random): Shot => ({
    ...withHeader(shot, name, random.pick(values)),
    ...(codes && { codes }),
    ...(also && { also }),
  })

const ofBody =
  (name: string, values: readonly string[], codes: readonly ErrorCode[]) =>
  (shot: Shot, random: Random): Shot =>
    shot.body ? header(name, values, codes)(shot, random) : shot

const unreadable: readonly ErrorCode[] = ['malformed_request']
const unsuitable: readonly ErrorCode[] = ['validation_failed']
const strangers: readonly ErrorCode[] = ['token_missing', 'token_invalid']

const asQuery = (value: Json): string =>
  encodeURIComponent(typeof value === 'string' ? value.toWellFormed() : String(value))

const ofBodies: Malformation[] = [
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
      text(shot, JSON.stringify({ ...(body as object), colour_: random.pick(nasties) }), unsuitable),
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
      const depth = random.pick([200, 5000, 300_000])
      return text(shot, `${'['.repeat(depth)}${']'.repeat(depth)}`, unreadable)
    },
  },
  { name: 'a prototype', apply: (shot) => text(shot, '{"__proto__":{"admin":true}}', unreadable) },
  {
    name: 'a body that is too large',
    apply: (shot) =>
      shot.body
        ? { ...shot, body: Buffer.alloc((shot.entry.bodyLimit ?? 1024 * 1024) + 1, 0x20), codes: ['payload_too_large'] }
        : shot,
  },
  {
    name: 'another content type',
    apply: ofBody(
      'Content-Type',
      ['text/plain', 'application/xml', 'application/json; charset=utf-16', 'application/jsonp', ';;=', ''],
      unreadable,
    ),
  },
  { name: 'a compressed body', apply: ofBody('Content-Encoding', ['gzip', 'br', 'identity, gzip'], unreadable) },
]

const ofHeaders: Malformation[] = [
  {
    name: 'a token of nobody',
    apply: (shot, random) => {
      if (shot.entry.gate === 'open') return shot
      const own = shot.headers.find(([name]) => name === 'Authorization')?.[1] ?? 'Bearer x'
      const at = random.between('Bearer svc_own_'.length, own.length - 1)
      const flipped = own.slice(0, at) + (own[at] === 'a' ? 'b' : 'a') + own.slice(at + 1)
      const values = [
        flipped,
        own.slice(0, -1),
        `${own}a`,
        `${own} a`,
        'Bearer',
        'Basic YTpi',
        'Bearer \xff',
        `Bearer ${'a'.repeat(9000)}`,
      ]
      return header('Authorization', values, strangers)(shot, random)
    },
  },
  {
    name: 'a strange patience',
    apply: header('Svc-Timeout-Ms', ['0', '-1', '1e3', 'soon', '99999999999', '\xff'], undefined, unsuitable),
  },
  { name: 'hardly any time', apply: header('Svc-Timeout-Ms', ['1', '2'], undefined, ['deadline_exceeded']) },
  {
    name: 'a strange preference',
    apply: header('Prefer', ['wait', 'wait=', 'wait=-1', 'wait=x', 'wait=0; wait=1', 'wait="1', '=', 'a'.repeat(4000)]),
  },
  {
    name: 'a strange key',
    apply: header('Idempotency-Key', ['', '\xff', 'k'.repeat(256), 'k\tk'], undefined, unsuitable),
  },
  {
    name: 'a key of another request',
    apply: header('Idempotency-Key', ['k', 'l'], undefined, ['idempotency_key_reused', 'idempotency_in_progress']),
  },
  {
    name: 'a strange cursor',
    apply: header('Last-Event-ID', ['-1', 'x', '1.2.3', '1.2.3.4.5', '9'.repeat(40), '\xff', '0x1', '1e3']),
  },
  {
    name: 'a taste',
    apply: header('Accept', ['text/event-stream', 'text/event-stream;q=0', 'image/png', '*/*', ';', 'a'.repeat(4000)]),
  },
  { name: 'a name rebound', apply: header('Host', ['evil.example', '127.0.0.1.evil.example', ''], ['host_forbidden']) },
  { name: 'a page', apply: header('Origin', ['null', 'http://localhost', 'https://evil.example'], ['origin_forbidden']) },
  { name: 'a trace', apply: header('Traceparent', ['00-0-0-00', '\xff', 'a'.repeat(5000)]) },
  { name: 'an id of its own', apply: header('X-Request-Id', ['<script>', 'a'.repeat(200), '\xff', '']) },
  { name: 'headers that are too large', apply: header('X-Large', ['a'.repeat(17_000)], ['headers_too_large']) },
  {
    name: 'many headers',
    apply: (shot) => withHeader(shot, 'X-Many', ...Array.from({ length: 500 }, (_, at) => String(at))),
  },
  {
    name: 'two of a header',
    apply: (shot, random) => {
      const name = random.pick(['Accept', 'Prefer', 'Idempotency-Key', 'Svc-Timeout-Ms', 'Last-Event-ID'])
      return { ...withHeader(shot, name, '1', '2'), also: ['validation_failed', 'idempotency_key_reused'] }
    },
  },
]

const ofPaths: Malformation[] = [
  {
    name: 'another method',
    apply: (shot, random) => ({
      ...shot,
      method: random.pick(['PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'LINK']),
      codes: ['route_not_found'],
    }),
  },
  {
    name: 'an identifier of nothing',
    apply: (shot, random) => {
      const id = random.pick([
        '..',
        '%2e%2e%2f',
        'a%00',
        '%ff',
        '%',
        'A',
        '*',
        ':id',
        'x'.repeat(6000),
        '%F0%9F%92%A9',
        ';a=1',
      ])
      const target = shot.target.replace(/\/(node_\w{26}|mock)(?=[/?]|$)/, `/${id}`)
      const codes: ErrorCode[] = ['validation_failed', 'malformed_request', 'route_not_found', 'node_token_required']
      return target === shot.target ? shot : { ...shot, target, codes }
    },
  },
  {
    name: 'no such path',
    apply: (shot, random) => {
      const [path = '', query] = shot.target.split('?')
      const other = random.pick([
        `${path}/`,
        `/${path}`,
        path.toUpperCase(),
        `${path}/x/y/z`,
        `${path}%20`,
        `${path};a`,
      ])
      return { ...shot, target: query ? `${other}?${query}` : other, also: ['route_not_found', 'validation_failed'] }
    },
  },
  {
    name: 'an unknown parameter',
    apply: (shot, random) => ({
      ...shot,
      target: `${shot.target}${shot.target.includes('?') ? '&' : '?'}colour_=${asQuery(random.pick(nasties)).slice(0, 2000)}`,
      codes: unsuitable,
    }),
  },
  {
    name: 'a parameter out of place',
    apply: (shot, random) => {
      const name = random.pick(Object.keys(shot.entry.query?.shape ?? { limit: 1 }))
      const value = asQuery(random.pick(nasties)).slice(0, 4000)
      const form = random.pick([
        `${name}=${value}`,
        `${name}[]=${value}`,
        `${name}=1&${name}=2`,
        `${name}`,
        `${name}=%`,
        '&&=&',
      ])
      return {
        ...shot,
        target: `${shot.target.split('?')[0]}?${form}`,
        also: ['validation_failed', 'malformed_request'],
      }
    },
  },
]

const ofFrames: Malformation[] = [
  { name: 'an older protocol', apply: (shot) => ({ ...shot, version: 'HTTP/1.0' }) },
  { name: 'an unknown protocol', apply: (shot) => ({ ...shot, version: 'HTTP/7.7', codes: unreadable }) },
  {
    name: 'a length too long',
    apply: (shot) =>
      shot.body
        ? { ...withHeader(shot, 'Content-Length', String(shot.body.length + 9)), ends: true, codes: unreadable }
        : shot,
  },
  {
    name: 'a length too short',
    apply: (shot) =>
      shot.body && shot.body.length > 2
        ? { ...withHeader(shot, 'Content-Length', String(shot.body.length - 2)), codes: unreadable }
        : shot,
  },
  {
    name: 'a length that is none',
    apply: header('Content-Length', ['-1', '1e1', '0x2', '1, 2', '99999999999999999999', 'many'], unreadable),
  },
  {
    name: 'two lengths',
    apply: (shot) => ({ ...withHeader(shot, 'Content-Length', '2', '3'), codes: unreadable }),
  },
  {
    name: 'a length and chunks',
    apply: (shot) => ({
      ...withHeader(withHeader(shot, 'Content-Length', '2'), 'Transfer-Encoding', 'chunked'),
      codes: unreadable,
    }),
  },
  {
    name: 'an encoding of its own',
    apply: header('Transfer-Encoding', ['gzip', 'xchunked', 'chunked, identity', '\x0bchunked'], unreadable),
  },
  {
    name: 'broken chunks',
    apply: (shot, random) => ({
      ...withHeader(shot, 'Transfer-Encoding', 'chunked'),
      body: Buffer.from(
        random.pick(['zz\r\n{}\r\n0\r\n\r\n', '-2\r\n{}\r\n0\r\n\r\n', 'fffffffffffffffff\r\n', '2\r\n{}x']),
      ),
      ends: true,
      codes: unreadable,
    }),
  },
  { name: 'an expectation', apply: header('Expect', ['100-continue']) },
  { name: 'an expectation of its own', apply: header('Expect', ['tea'], unreadable) },
  {
    name: 'an upgrade',
    apply: (shot) => withHeader(withHeader(shot, 'Connection', 'Upgrade'), 'Upgrade', 'websocket'),
  },
]

/** Nothing wrong at all stands among them: sound requests and unsound ones meet in one daemon. */
export const malformations: readonly Malformation[] = [
  { name: 'nothing', apply: (shot) => shot },
  ...ofBodies,
  ...ofBodies.slice(0, 2),
  ...ofHeaders,
  ...ofPaths,
  ...ofFrames,
]
