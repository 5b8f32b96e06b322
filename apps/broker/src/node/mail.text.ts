import type { ContentPart, MailEntry } from '#sdk/generated/types.js'

/** What the broker notes on parts of its own; never sent to a provider. */
export interface PartNote {
  readonly svc: {
    readonly mail?: string
    readonly nudge?: string
    /** Which band of the context's fill this tells of. */
    readonly band?: 'hint' | 'tell'
    /** What of a context's beginning this is. */
    readonly opening?: 'environment' | 'project'
    /** The day that it tells. */
    readonly day?: string
  }
}

export const noteOf = (part: ContentPart): PartNote['svc'] | undefined =>
  part.type === 'text' ? (part.provider_metadata as Partial<PartNote> | undefined)?.svc : undefined

/** A name as one line: whoever gives a node its name writes no mail of another sender by it. */
const inOneLine = (name: string): string => name.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')

const senderOf = ({ source, kind }: MailEntry): string => {
  const name = source.name ? `${inOneLine(source.name)} (${source.id ?? source.kind})` : (source.id ?? source.kind)
  if (kind === 'event') return `Event${source.event ? ` ${source.event.name}` : ''} of ${name}`
  if (kind === 'answer') return `Answer of ${name}`
  return kind === 'report' ? `Report of ${name}` : kind === 'notice' ? `Notice of ${name}` : `Message from ${name}`
}

/** A piece of mail as the model reads it: a prompt as it is, anything else with its sender. */
export const mailPart = (mail: MailEntry): ContentPart => ({
  type: 'text',
  text:
    mail.kind === 'prompt' || mail.kind === 'kickoff' ? mail.body : `[${senderOf(mail)}, ${mail.tier}]\n${mail.body}`,
  provider_metadata: { svc: { mail: mail.id } } satisfies PartNote,
})
