import { operation } from './define.js'
import {
  bashCommand,
  bashResult,
  fileContent,
  fileList,
  filesListQuery,
  filesReadQuery,
  fileWrite,
  fileWritten,
  machineLimits,
} from './machine.schema.js'

const owner = ['owner'] as const

export const fileOperations = [
  operation({
    name: 'files.read',
    kind: 'route',
    summary: 'Read a piece of a file',
    description:
      "With the owner's token any file that the daemon may read; with a node's, what lies in its working directory and its mounts. Only regular files are read.",
    service: 'host',
    method: 'GET',
    path: '/v1/files/peek',
    listeners: owner,
    gate: 'svc:act',
    query: filesReadQuery,
    response: fileContent,
    errors: ['not_found', 'path_outside_scope', 'file_access_denied', 'not_a_file', 'not_a_directory'],
  }),
  operation({
    name: 'files.write',
    kind: 'route',
    summary: 'Write a whole file, atomically',
    description:
      'The file is replaced as a whole or not at all, durably, and keeps its permissions. At most 1 MiB of decoded bytes; more is refused and nothing is written.',
    service: 'host',
    method: 'POST',
    path: '/v1/files/write',
    listeners: owner,
    gate: 'svc:act',
    body: fileWrite,
    bodyLimit: 7 * machineLimits.writeBytes,
    response: fileWritten,
    idempotency: 'natural',
    repeats:
      'The same bytes come to stand in the same file; with `if_match` or `create_only` a repetition is refused and writes nothing.',
    errors: [
      'not_found',
      'path_outside_scope',
      'file_access_denied',
      'not_a_file',
      'not_a_directory',
      'file_too_large',
      'precondition_failed',
      'already_exists',
      'storage_full',
    ],
  }),
  operation({
    name: 'files.list',
    kind: 'route',
    summary: 'List a directory, by pages',
    description:
      'Entries by the bytes of their names. What is made or removed between two pages neither shifts nor doubles the others.',
    service: 'host',
    method: 'GET',
    path: '/v1/files/list',
    listeners: owner,
    gate: 'svc:act',
    query: filesListQuery,
    response: fileList,
    errors: ['not_found', 'path_outside_scope', 'file_access_denied', 'not_a_directory'],
  }),
] as const

export const bashOperations = [
  operation({
    name: 'bash.run',
    kind: 'route',
    summary: 'Run one shell command and answer what it did',
    description:
      "A non-zero exit is a value. With a node's token it runs in that node's sandbox; with the owner's, as the daemon's own account. It gets none of the daemon's own environment and no token: pass in `env` what it needs. When it ends, at its time-out and when the client disconnects, all that it started is ended with it: what is to go on is a job. Output beyond 1 MiB keeps its beginning and its end. Repeating a request with its idempotency key never runs the command twice: one that was cut off answers `outcome_unknown`.",
    service: 'host',
    method: 'POST',
    path: '/v1/bash',
    listeners: owner,
    gate: 'svc:act',
    body: bashCommand,
    bodyLimit: 4 * machineLimits.stdinBytes,
    response: bashResult,
    idempotency: 'key',
    timeout: machineLimits.commandMs + 20_000,
    errors: [
      'not_found',
      'path_outside_scope',
      'file_access_denied',
      'outcome_unknown',
      'quota_exceeded',
      'sandbox_required',
    ],
  }),
] as const
