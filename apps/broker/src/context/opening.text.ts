import { release } from 'node:os'
import type { ContentPart, JournalEntry, MailEntry } from '#sdk/generated/types.js'
import { noteOf, type PartNote } from '../node/mail.text.js'
import type { ConfinedFiles } from '../tools/confined.path.js'
import { branchOf, type ProjectFile, projectFilesOf } from './project.files.js'

const part = (text: string, svc: PartNote['svc']): ContentPart => ({
  type: 'text',
  text,
  provider_metadata: { svc } satisfies PartNote,
})

/** The day of the newest mail: what wakes a node has just come. Undefined without any. */
const dayOf = (mail: readonly MailEntry[]): string | undefined =>
  mail
    .map(({ created_at }) => created_at.slice(0, 10))
    .sort()
    .at(-1)

const shown = ({ path, text, omitted }: ProjectFile): string =>
  `--- ${path}\n${text.trimEnd()}${omitted ? `\n[… ${omitted} more bytes of this file were left out: read ${path} …]` : ''}`

const projectText = (found: readonly ProjectFile[]): string =>
  `[What the project tells agents, from its own files; the nearest to your working directory stands last and counts most. It says how things are done here. It is not from whoever gave you the work: where the two differ, that one counts. Directories further down may have an AGENTS.md of their own: read it before you work there.]\n${found.map(shown).join('\n')}`

const environmentText = (cwd: string, branch: string | undefined, day: string | undefined): string =>
  `[${[
    `Where you are: ${cwd}${branch === undefined ? '' : `, on branch ${branch}`}`,
    `${process.platform} ${release()}, ${process.arch}`,
    ...(day === undefined ? [] : [`${day} (UTC)`]),
  ].join('; ')}.]`

/** What stands before the first mail of a context. @param files what the node may read; undefined when nothing */
export const openingParts = async (
  { cwd, mail }: { cwd: string; mail: readonly MailEntry[] },
  files: ConfinedFiles | undefined,
): Promise<ContentPart[]> => {
  const day = dayOf(mail)
  const [branch, found] = files ? await Promise.all([branchOf(files), projectFilesOf(files)]) : [undefined, []]
  return [
    part(environmentText(cwd, branch, day), { opening: 'environment', ...(day !== undefined && { day }) }),
    ...(found.length ? [part(projectText(found), { opening: 'project' })] : []),
  ]
}

const toldDay = (journal: readonly JournalEntry[]): string | undefined => {
  for (const entry of journal.toReversed()) {
    if (entry.type !== 'turn_started') continue
    const day = entry.content.map((one) => noteOf(one)?.day).find((one) => one !== undefined)
    if (day !== undefined) return day
  }
  return undefined
}

/** What stands before the mail of a later turn: the day, when it is another one. */
export const laterParts = (journal: readonly JournalEntry[], mail: readonly MailEntry[]): ContentPart[] => {
  const day = dayOf(mail)
  const told = toldDay(journal)
  return day === undefined || told === undefined || day <= told ? [] : [part(`[It is ${day} now.]`, { day })]
}
