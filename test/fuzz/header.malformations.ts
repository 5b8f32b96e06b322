import type { ErrorCode } from '#common/contract/errors.js'
import type { Random } from '../chaos/random.js'
import { header, type Malformation, unsuitable } from './malformation.js'
import { withHeader } from './shot.js'

const strangers: readonly ErrorCode[] = ['token_missing', 'token_invalid']
/** What somebody is told whose token is good, and not for this. */
const gateCodes: readonly ErrorCode[] = [
  'app_token_required',
  'publish_token_only',
  'grant_revoked',
  'listener_forbidden',
  'token_revoked',
  'path_outside_scope',
]

/** One character of a token flipped, missing or too much. */
const spoilt = (own: string, random: Random): string[] => {
  const at = random.between('Bearer svc_own_'.length, own.length - 1)
  const kind = random.pick(['own', 'app', 'run', 'node', 'pub', 'rt', 'xyz'])
  const flipped = own.slice(0, at) + (own[at] === 'a' ? 'b' : 'a') + own.slice(at + 1)
  const renamed = own.replace(/svc_[a-z]+_/, `svc_${kind}_`)
  return [flipped, own.slice(0, -1), `${own}a`, ...(renamed === own ? [] : [renamed])]
}

const strangeForms = (own: string): string[] => [
  `${own} a`,
  `${own},`,
  `Token ${own.slice('Bearer '.length)}`,
  `Bearer="${own.slice('Bearer '.length)}"`,
  'Bearer',
  'Bearer null',
  'Bearer svc_own_',
  'Basic YTpi',
  'Bearer \xff',
  `Bearer ${'a'.repeat(9000)}`,
]

export const ofHeaders: Malformation[] = [
  {
    name: 'a token of nobody',
    apply: (shot, random) => {
      if (shot.entry.gate === 'open') return shot
      const own = shot.headers.find(([name]) => name === 'Authorization')?.[1] ?? 'Bearer x'
      return header('Authorization', [...spoilt(own, random), ...strangeForms(own)], strangers)(shot, random)
    },
  },
  {
    name: 'a token that is good no more',
    apply: (shot, random) => {
      if (shot.entry.gate === 'open' || !shot.spent?.length) return shot
      const { token, code } = random.pick(shot.spent)
      return { ...withHeader(shot, 'Authorization', `Bearer ${token}`), codes: [code] }
    },
  },
  {
    name: 'a token of somebody else',
    apply: (shot, random) => {
      if (shot.entry.gate === 'open' || !shot.others?.length) return shot
      return {
        ...withHeader(shot, 'Authorization', `Bearer ${random.pick(shot.others)}`),
        also: gateCodes,
        ofAnybody: true,
      }
    },
  },
  {
    name: 'a token in another place',
    apply: (shot, random) => {
      if (shot.entry.gate === 'open') return shot
      const own = shot.headers.find(([name]) => name === 'Authorization')?.[1]?.slice('Bearer '.length) ?? ''
      const bare = withHeader(shot, 'Authorization')
      const target = `${shot.target}${shot.target.includes('?') ? '&' : '?'}access_token=${own}`
      const codes = ['token_missing'] as const
      return random.pick([
        { ...bare, target, codes },
        { ...withHeader(bare, 'Cookie', `token=${own}; access_token=${own}`), codes },
        { ...withHeader(bare, 'Proxy-Authorization', `Bearer ${own}`), codes },
      ])
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
  {
    name: 'a page',
    apply: header('Origin', ['null', 'http://localhost:1', 'https://evil.example'], ['origin_forbidden']),
  },
  {
    name: 'a range',
    apply: header('Range', ['bytes=0-1', 'bytes=-1', 'bytes=5-1', 'items=1', '\xff', '0'.repeat(3000)]),
  },
  { name: 'a condition', apply: header('If-Match', ['*', '"x"', 'W/"1"', '\xff']) },
  { name: 'another encoding', apply: header('Accept-Encoding', ['gzip;q=2', 'br', '*;q=0', '\xff', ',,,']) },
  { name: 'another method in a header', apply: header('X-HTTP-Method-Override', ['DELETE', 'PUT', '\xff']) },
  {
    name: 'another address',
    apply: header('X-Forwarded-For', ['127.0.0.1', '::1', 'evil', '1.2.3.4, 5.6.7.8', '\xff', '1.1.1.1,'.repeat(500)]),
  },
  { name: 'another host in a header', apply: header('X-Forwarded-Host', ['evil.example', '\xff', '']) },
  { name: 'a trace', apply: header('Traceparent', ['00-0-0-00', '\xff', 'a'.repeat(5000)]) },
  { name: 'an id of its own', apply: header('X-Request-Id', ['<script>', 'a'.repeat(200), '\xff', '']) },
  {
    name: 'headers that are too large',
    apply: (shot) => ({
      ...withHeader(shot, 'X-Large', 'a'.repeat(17_000)),
      codes: ['headers_too_large'],
      alone: true,
    }),
  },
  {
    name: 'many headers',
    apply: (shot) => ({
      ...withHeader(shot, 'X-Many', ...Array.from({ length: 500 }, (_, at) => String(at))),
      codes: ['headers_too_large'],
    }),
  },
  {
    name: 'two of a header',
    apply: (shot, random) => {
      const name = random.pick(['Accept', 'Prefer', 'Idempotency-Key', 'Svc-Timeout-Ms', 'Last-Event-ID'])
      return { ...withHeader(shot, name, '1', '2'), also: ['validation_failed', 'idempotency_key_reused'] }
    },
  },
]
