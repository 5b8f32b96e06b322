import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Operation } from '#common/contract/define.js'
import { type FieldFault, SvcError } from '#common/kernel/errors.js'
import { faultText } from '#common/kernel/field.fault.js'

type Issue = z.core.$ZodIssue

const escaped = (key: PropertyKey): string => String(key).replaceAll('~', '~0').replaceAll('/', '~1')

const pointerOf = (path: readonly PropertyKey[]): string => path.map((key) => `/${escaped(key)}`).join('')

/** An unknown field is named itself; of a union the branch that came closest speaks. */
const faultsOf = (issue: Issue, base: readonly PropertyKey[] = []): FieldFault[] => {
  const path = [...base, ...issue.path]
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ pointer: pointerOf([...path, key]), message: 'is not a field of this request' }))
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const closest = issue.errors.reduce((best, branch) => (branch.length < best.length ? branch : best))
    return closest.flatMap((inner) => faultsOf(inner, path))
  }
  return [{ pointer: pointerOf(path), message: faultText(issue) }]
}

/** Faults that one answer names. */
const mostFaults = 50

/** `Prefer: wait=n` (RFC 7240), in seconds; undefined when it says nothing of the kind. Above 60 it means 60. */
export const preferredWait = (prefer: string | string[] | undefined): number | undefined => {
  const found = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,6})"?(?=$|[,;\s])/i.exec(String(prefer ?? ''))
  return found ? Math.min(60, Number(found[1])) : undefined
}

const queryOf = (entry: Operation, request: FastifyRequest): Record<string, unknown> => {
  const query = { ...(request.query as Record<string, unknown>) }
  const shape = entry.query?.shape ?? {}
  const wait = preferredWait(request.headers.prefer)
  if ('wait' in shape && wait !== undefined && !('wait' in query)) query.wait = String(wait)
  const last = request.headers['last-event-id']
  if ('after' in shape && entry.item && typeof last === 'string' && last !== '') query.after = last
  return query
}

/**
 * Path, query and body as the one object that a handler is given, each parsed by its schema.
 *
 * @throws SvcError `validation_failed` with a JSON pointer for each fault; an unknown field is one.
 */
export const parseInput = (entry: Operation, request: FastifyRequest, body: unknown): Record<string, unknown> => {
  const faults: FieldFault[] = []
  const read = (schema: z.ZodType | undefined, value: unknown): object => {
    if (!schema) {
      const extra =
        typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : undefined
      if (value !== undefined && !extra) faults.push({ pointer: '', message: 'this request takes no body' })
      for (const key of extra ?? []) {
        faults.push({ pointer: pointerOf([key]), message: 'is not a field of this request' })
      }
      return {}
    }
    const parsed = schema.safeParse(value)
    if (parsed.success) return parsed.data as object
    faults.push(...parsed.error.issues.flatMap((issue) => faultsOf(issue)))
    return {}
  }
  const input = {
    ...read(entry.params, entry.params ? request.params : undefined),
    ...read(entry.query, queryOf(entry, request)),
    ...read(entry.body, entry.body && body === undefined ? {} : body),
  }
  if (faults.length === 0) return input
  throw new SvcError('validation_failed', undefined, { errors: faults.slice(0, mostFaults) })
}
