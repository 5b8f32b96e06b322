import { SvcError } from '../errors.js'

/** Why an answer will not come: nobody listens, the connection went, or permissions forbid asking. */
export type Failure = 'nobody' | 'lost' | 'forbidden'

const reasons = {
  nobody: 'nobody serves this command',
  lost: 'the connection to the bus was lost',
  silent: 'it fell silent',
} as const

export const unavailable = (service: string, why: string): SvcError =>
  new SvcError('service_unavailable', `${service} is not available: ${why}`, { service })

/** @param target the host, of a service of which each machine has its own. */
const missing = (failure: keyof typeof reasons, service: string, target: string | undefined): SvcError => {
  const why = reasons[failure]
  if (target === undefined) return unavailable(service, why)
  // Whoever knows that nobody heard it may ask again.
  const fields = { service, host_id: target, ...(failure === 'nobody' && { delivered: false }) }
  return new SvcError('service_unavailable', `${service} ${target} is not available: ${why}`, fields)
}

export interface Called {
  readonly service: string
  readonly subject: string
  readonly target?: string | undefined
}

export const failureOf = (failure: Failure | 'silent', { service, subject, target }: Called): SvcError => {
  switch (failure) {
    case 'nobody':
    case 'lost':
    case 'silent':
      return missing(failure, service, target)
    case 'forbidden':
      return new SvcError('internal', `the bus does not permit ${subject} to this service`, { service })
  }
}

export const overrun = (operation: string): SvcError =>
  new SvcError('deadline_exceeded', `${operation} did not finish in time`)

export const tooLarge = (bytes: number, limit: number): SvcError =>
  new SvcError('payload_too_large', `${bytes} bytes are more than the ${limit} that one message may carry`, { limit })
