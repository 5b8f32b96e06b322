import { pageOf } from './common.schema.js'
import { operation } from './define.js'
import {
  grepAnswer,
  grepBody,
  historyEntry,
  readQuery,
  searchAnswer,
  searchBody,
  statsAnswer,
  statsBody,
} from './history.schema.js'

const owner = ['owner'] as const

export const historyOperations = [
  operation({
    name: 'canvas.history.search',
    kind: 'route',
    summary: 'Search what was said, read and reported, best first',
    description:
      'Reports weigh most, then what was said, then mail, then what tools answered and thoughts. Text is found about a second after it was written.',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/canvas/history/search',
    listeners: owner,
    gate: 'own',
    body: searchBody,
    response: searchAnswer,
    idempotency: 'natural',
    errors: ['not_found'],
  }),
  operation({
    name: 'canvas.history.grep',
    kind: 'route',
    summary: 'Find lines by a regular expression, newest text first',
    description:
      'Takes time in proportion to the text whatever the pattern. One request looks for a bounded time at a bounded amount of text; `cut` says which bound it met and `next_cursor` goes on. Lines of more than 4,000 characters are looked at in pieces.',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/canvas/history/grep',
    listeners: owner,
    gate: 'own',
    body: grepBody,
    response: grepAnswer,
    idempotency: 'natural',
    errors: ['not_found'],
  }),
  operation({
    name: 'canvas.history.read',
    kind: 'route',
    summary: 'Read the turns of a node',
    service: 'lifecycle',
    method: 'GET',
    path: '/v1/canvas/history/read',
    listeners: owner,
    gate: 'own',
    query: readQuery,
    response: pageOf(historyEntry),
    errors: ['not_found'],
  }),
  operation({
    name: 'canvas.history.stats',
    kind: 'route',
    summary: 'Turns, tokens and cost, by day, model, application or kind',
    description: 'Whole days, in UTC. What pruned nodes did is counted, too, unless `under` is given.',
    service: 'lifecycle',
    method: 'POST',
    path: '/v1/canvas/history/stats',
    listeners: owner,
    gate: 'own',
    body: statsBody,
    response: statsAnswer,
    idempotency: 'natural',
    errors: ['not_found'],
  }),
] as const
