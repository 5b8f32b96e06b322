import type { ExecSpec, MailEntry } from '#sdk/generated/types.js'

const promptLine = ({ id, body }: MailEntry): string => `${JSON.stringify({ type: 'prompt', id, body })}\n`

/** One piece of mail as a line of JSON. */
export const mailLine = ({ id, tier, kind, body, source }: MailEntry): string =>
  `${JSON.stringify({ type: 'mail', id, tier, kind, body, source })}\n`

/**
 * What a program reads first. `jsonl`: the first piece is its prompt, the others are mail, each a line. `text`: the
 * bodies as they are, a blank line between them.
 */
export const firstInput = (stdin: ExecSpec['stdin'], [first, ...rest]: readonly [MailEntry, ...MailEntry[]]): string =>
  stdin === 'text'
    ? [first, ...rest].map(({ body }) => body).join('\n\n')
    : promptLine(first) + rest.map(mailLine).join('')
