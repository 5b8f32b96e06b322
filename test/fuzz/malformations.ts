import type { ErrorCode } from '#common/contract/errors.js'
import { ofBodies } from './body.malformations.js'
import { ofHeaders } from './header.malformations.js'
import { header, type Malformation, unreadable, unsuitable } from './malformation.js'
import type { Json } from './sample.js'
import { withHeader } from './shot.js'
import { nastyOf } from './spoil.js'

const asQuery = (value: Json): string =>
  encodeURIComponent(typeof value === 'string' ? value.toWellFormed() : String(value))

const ofPaths: Malformation[] = [
  {
    name: 'another method',
    apply: (shot, random) => ({
      ...shot,
      method: random.pick(['OPTIONS', 'TRACE', 'PROPFIND', 'LINK', 'SEARCH']),
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
        '..%2f..%2fetc',
        '%2e',
        '%c0%af',
        '%u0041',
        '%%35%35',
        ';a=1',
      ])
      const target = shot.target.replace(/\/(node_\w{26}|mock|thing)(?=[/?]|$)/, `/${id}`)
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
        `${path}//`,
        `/.${path}`,
        `/v1/..${path}`,
        path.replace('/v1/', '/v1//'),
        path.replace('/v1/', '/%761/'),
        path.replaceAll('/', '%2f'),
      ])
      return { ...shot, target: query ? `${other}?${query}` : other, also: ['route_not_found', 'validation_failed'] }
    },
  },
  {
    name: 'a path that is too long',
    apply: (shot) => ({
      ...shot,
      target: `${shot.target.split('?')[0]}/${'a'.repeat(17_000)}`,
      codes: ['headers_too_large'],
      alone: true,
    }),
  },
  {
    name: 'a path that is none',
    apply: (shot, random) => ({
      ...shot,
      target: random.pick(['*', 'v1/status', '/v1/sta\0tus', '/v1/st\x80tus', '?', '/v1/nodes#x', 'http://[', '//']),
      alone: true,
      mayClose: true,
      codes: ['malformed_request', 'route_not_found', 'validation_failed', 'host_forbidden', 'listener_forbidden'],
    }),
  },
  {
    name: 'a parameter that objects have',
    apply: (shot, random) => ({
      ...shot,
      target: `${shot.target.split('?')[0]}?${random.pick(['__proto__=1', 'constructor=1', 'toString', 'a[__proto__][x]=1', 'x=1&'.repeat(1500)])}`,
      codes: unsuitable,
    }),
  },
  {
    name: 'an unknown parameter',
    apply: (shot, random) => ({
      ...shot,
      target: `${shot.target}${shot.target.includes('?') ? '&' : '?'}colour_=${asQuery(nastyOf(random)).slice(0, 2000)}`,
      codes: unsuitable,
    }),
  },
  {
    name: 'a parameter out of place',
    apply: (shot, random) => {
      const name = random.pick(Object.keys(shot.entry.query?.shape ?? { limit: 1 }))
      const value = asQuery(nastyOf(random)).slice(0, 4000)
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

const frames: Malformation[] = [
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
        ? { ...withHeader(shot, 'Content-Length', String(shot.body.length - 2)), codes: unreadable, mayClose: true }
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

/** Each on a connection of its own, which such a request may spoil. */
const ofFrames = frames.map(
  ({ name, apply }): Malformation => ({
    name,
    apply: (shot, random, body) => ({ ...apply(shot, random, body), alone: true }),
  }),
)

/** Nothing wrong at all stands among them: sound requests and unsound ones meet in one daemon. */
export const malformations: readonly Malformation[] = [
  { name: 'nothing', apply: (shot) => shot },
  ...ofBodies,
  ...ofBodies.slice(0, 2),
  ...ofHeaders,
  ...ofPaths,
  ...ofFrames,
]
