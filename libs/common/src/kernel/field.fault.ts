import type { z } from 'zod'

/** What is wrong with a field, to whoever has sent the request. */
export const faultText = ({ code, message }: z.core.$ZodIssue): string =>
  code === 'invalid_type' && message.endsWith('received undefined') ? 'is missing' : message
