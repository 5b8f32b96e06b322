import type { FastifyReply, FastifyRequest } from 'fastify'

/** Bearer tokens alone: no cookie is ever read, so that credentials mode is never permitted. */
const permitted = {
  'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': [
    'Accept',
    'Authorization',
    'Content-Type',
    'Idempotency-Key',
    'Last-Event-ID',
    'Prefer',
    'Svc-Timeout-Ms',
    'Svc-Version',
    'Traceparent',
    'X-Request-Id',
  ].join(', '),
  // a page that was struck from the list asks again within this time (s)
  'access-control-max-age': '600',
  vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
}

/** What a page may read of an answer besides the few headers that every page may. */
const exposed = [
  'Allow',
  'Content-Disposition',
  'Deprecation',
  'Idempotency-Replayed',
  'Link',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Sunset',
  'Svc-Version',
  'WWW-Authenticate',
  'X-Request-Id',
].join(', ')

/** Whether a browser asks for a page if it may send a request. */
export const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined

/** Lets a page of this origin read the answer, whatever it is. */
export const allowReading = (reply: FastifyReply, origin: string): void => {
  reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', exposed)
}

/** The same for every path: what a route then answers the page reads like everybody else. */
export const answerPreflight = (request: FastifyRequest, reply: FastifyReply): void => {
  reply.headers(permitted)
  // a page of the network asks a daemon that is nearer than itself
  if (request.headers['access-control-request-private-network'] === 'true') {
    reply.header('access-control-allow-private-network', 'true')
  }
  reply.code(204).send()
}
