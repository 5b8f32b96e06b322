import type { NodeRecord } from '../node/node.record.js'
import type { LiveChild, LiveJob, Task, UnfinishedTurn } from './context.repository.js'

/** What a context begins with; absent parts are left out of its text. */
export interface Kickoff {
  readonly node: Pick<NodeRecord, 'context' | 'engagement' | 'yield_note' | 'name'>
  readonly mandate: readonly Task[]
  /** The root whose place this one has taken. */
  readonly predecessor?: { readonly id: string; readonly name: string } | undefined
  readonly roadmap?: string | undefined
  readonly reports: readonly { readonly kind: string; readonly body: string; readonly at: Date }[]
  readonly children: readonly LiveChild[]
  readonly jobs: readonly LiveJob[]
  /** The turn before, when it was not completed, and what it had been given. */
  readonly unfinished?: (UnfinishedTurn & { readonly mail: readonly { readonly body: string }[] }) | undefined
}

/** Characters of what the node was given, of the first and of the present piece of work, and of its roadmap: all fits one entry of the journal. */
const mandateLength = 200_000
const roadmapLength = 150_000
/** Characters of one report, and of one text that a cut turn was given. */
const reportLength = 4000
const givenLength = 16_000

const shortened = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}\n[… ${text.length - length} characters more]` : text

const block = (title: string, body: string): string => `## ${title}\n\n${body}`

const opening = ({ node, predecessor }: Kickoff): string => {
  if (predecessor && node.context === 1) {
    return `You take the place of ${predecessor.name} (node ${predecessor.id}), a root that has ended. Its work is yours now: what it was given to do, what it watched and its unread mail. You remember nothing of its conversation. What follows is what was kept.`
  }
  return `This is context ${node.context} of your work. Your conversation begins anew: you remember nothing of what was said before. Who you are, your files, your subscriptions and your mail are the same. What follows is what was kept.`
}

const joined = (tasks: readonly Task[]): string => shortened(tasks.map(({ body }) => body).join('\n\n'), mandateLength)

const mandateOf = (tasks: readonly Task[]): string[] => {
  const first = tasks.filter(({ engagement }) => engagement === 1)
  const present = tasks.filter(({ engagement }) => engagement > 1)
  return [
    ...(first.length ? [block('What you were made for', joined(first))] : []),
    ...(present.length ? [block('Your present piece of work', joined(present))] : []),
  ]
}

const ends = { open: 'was cut off', interrupted: 'was interrupted', failed: 'failed' } as const

const unfinishedText = ({ turn, how, mail }: NonNullable<Kickoff['unfinished']>): string => {
  const head = `Your turn ${turn} ${ends[how]}. What it had begun may have taken effect in full, in part or not at all: look before you repeat it.`
  if (!mail.length) return head
  return `${head} It had been given:\n\n${mail.map(({ body }) => `> ${shortened(body, givenLength).replaceAll('\n', '\n> ')}`).join('\n\n')}`
}

/** The text that a fresh context begins with, made of what is durable. */
export const kickoffText = (kickoff: Kickoff): string => {
  const { node, mandate, roadmap, reports, children, jobs, unfinished } = kickoff
  return [
    opening(kickoff),
    ...mandateOf(mandate),
    ...(roadmap === undefined ? [] : [block('Your roadmap', shortened(roadmap, roadmapLength))]),
    ...(node.yield_note === null ? [] : [block('The note that was left for you', node.yield_note)]),
    ...(reports.length === 0
      ? []
      : [
          block(
            'The newest reports',
            reports
              .map(({ kind, body, at }) => `- ${at.toISOString()}, ${kind}: ${shortened(body, reportLength)}`)
              .join('\n'),
          ),
        ]),
    ...(children.length === 0
      ? []
      : [
          block(
            'Nodes that work for you',
            `${children.map(({ id, name, kind, status }) => `- ${name} (${id}, ${kind}): ${status}`).join('\n')}\n\nTheir reports wake you.`,
          ),
        ]),
    ...(jobs.length === 0
      ? []
      : [
          block(
            'Jobs that run',
            jobs.map(({ id, command }) => `- ${id}: ${shortened(command.replace(/\s+/g, ' '), 200)}`).join('\n'),
          ),
        ]),
    ...(unfinished ? [block('What was not finished', unfinishedText(unfinished))] : []),
    'Look at the present state of your work before you go on. Mail that follows came in the meantime.',
  ].join('\n\n')
}
