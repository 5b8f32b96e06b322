import { z } from 'zod'
import { pageOf, pageQuery } from './common.schema.js'
import { operation } from './define.js'
import { partyRef, watch, watchBody } from './object.schema.js'

const owner = ['owner'] as const

export const watchOperations = [
  operation({
    name: 'canvas.watches.list',
    kind: 'route',
    summary: 'List who watches what, newest first',
    description: 'A token that is not the owner’s names a watcher or a source that it may see.',
    service: 'objects',
    method: 'GET',
    path: '/v1/canvas/watches',
    listeners: owner,
    gate: 'own',
    query: z.strictObject({ ...pageQuery, watcher: partyRef.optional(), source: partyRef.optional() }),
    response: pageOf(watch),
    errors: ['not_found'],
  }),
  operation({
    name: 'canvas.watches.put',
    kind: 'route',
    summary: 'Make a node or an object watch another: from now on it is told of its events',
    description:
      'A node is told by mail, at the tier that the watch names, and is woken; an object by a delivery to its receiver. A node may have itself, or a node below it, watch any node of its tree and any object that it sees; objects are made to watch by the owner. To watch again replaces filter and tier. A watch ends with either of the two; that of a node also when the node is done.',
    service: 'objects',
    method: 'PUT',
    path: '/v1/canvas/watches',
    listeners: owner,
    gate: 'svc:act',
    body: watchBody,
    response: watch,
    idempotency: 'natural',
    errors: [
      'not_found',
      'illegal_transition',
      'quota_exceeded',
      'receiver_unfit',
      'event_not_declared',
      'owner_required',
    ],
  }),
  operation({
    name: 'canvas.watches.delete',
    kind: 'route',
    summary: 'Make a node or an object watch another no more',
    service: 'objects',
    method: 'DELETE',
    path: '/v1/canvas/watches',
    listeners: owner,
    gate: 'svc:act',
    query: z.strictObject({ watcher: partyRef, source: partyRef }),
    response: z.object({ removed: z.boolean().meta({ description: 'False when it did not watch it' }) }),
    idempotency: 'natural',
    errors: ['not_found', 'owner_required'],
  }),
] as const
