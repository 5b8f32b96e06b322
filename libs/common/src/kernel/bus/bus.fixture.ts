import { z } from 'zod'
import { operation } from '../../contract/define.js'
import { type Context, systemContext } from '../context.js'
import type { SvcError } from '../errors.js'

/** Operations for the suites of the bus: each of one kind. */
export const probe = {
  echo: operation({
    name: 'probe.echo',
    kind: 'internal',
    summary: 'Answers its input',
    service: 'lifecycle',
    body: z.object({ text: z.string(), times: z.int().default(1) }),
    response: z.unknown(),
  }),
  wait: operation({
    name: 'probe.wait',
    kind: 'internal',
    summary: 'Answers when the test says so',
    service: 'lifecycle',
    response: z.unknown(),
  }),
  flow: operation({
    name: 'probe.flow',
    kind: 'internal',
    summary: 'Items',
    service: 'lifecycle',
    body: z.object({ count: z.int().default(0) }),
    answer: 'stream',
    item: z.unknown(),
  }),
  report: operation({
    name: 'probe.report',
    kind: 'internal',
    summary: 'Asked of one host',
    service: 'host',
    response: z.object({ host: z.string() }),
  }),
} as const

export const asked = (more: Partial<Context> = {}): Context => ({ ...systemContext('gateway'), ...more })

/** The error of a promise that must fail; fails itself when it doesn't. */
export const failure = async (promise: Promise<unknown>): Promise<SvcError> => {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in outcome) return outcome.error as SvcError
  throw new Error(`expected a failure, got ${JSON.stringify(outcome.value)}`)
}

/** A promise and its outcome in the test's hands. */
export const gate = <T = void>(): { promise: Promise<T>; open: (value: T) => void } => {
  let open: (value: T) => void = () => undefined
  const promise = new Promise<T>((resolve) => {
    open = resolve
  })
  return { promise, open }
}
