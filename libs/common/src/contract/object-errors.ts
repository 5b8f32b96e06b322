import { defineCodes } from './error-kinds.js'

/** Codes of custom objects, their events and their receivers. */
export const objectErrorCodes = defineCodes({
  event_not_declared: {
    kind: 'unprocessable',
    title: 'The object does not declare this event',
    remedy: '`declared` lists its events; add this one to its catalog first: `svc custom-object update`.',
  },
  payload_schema_mismatch: {
    kind: 'unprocessable',
    title: 'The payload does not fit the schema that the event declares',
    remedy: 'Each entry of `errors` says where it differs. Nothing was accepted.',
  },
  catalog_incompatible: {
    kind: 'conflict',
    title: 'The new catalog would break who publishes or who receives',
    remedy:
      'Each entry of `differences` names one. Add a new event instead, or send `force` when you have seen to all of them.',
  },
  receiver_refused: {
    kind: 'unprocessable',
    title: 'The daemon does not deliver to this address',
    remedy: '`detail` says why; private addresses need `allow_private` in the receiver.',
  },
  receiver_unfit: {
    kind: 'conflict',
    title: 'The receiver of the object is of another kind',
    remedy:
      'Deliveries of a `queue` are received and acknowledged, those of `url` and `argv` are sent; without any there are none.',
  },
  queue_full: {
    kind: 'exhausted',
    title: 'A receiver has as many unacknowledged deliveries as it may have',
    remedy:
      '`receivers` names it. Nothing was accepted: have what waits there received and acknowledged, or raise its `max_pending`.',
  },
})
