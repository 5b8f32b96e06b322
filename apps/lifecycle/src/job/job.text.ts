import type { JobEnd } from '#common/contract/job.internal.js'
import type { JobRecord } from './job.record.js'

/** Events and notices carry the beginning of a command. */
const commandLength = 200
const tailLength = 2000

export const briefCommand = (command: string): string =>
  command.length > commandLength ? `${command.slice(0, commandLength)}…` : command

/** How a job ended, as a clause. */
export const endClause = ({ status, exit_code, signal, error }: Omit<JobEnd, 'tail'>): string => {
  if (status === 'lost') return `is lost: ${error ?? 'nobody knows how it ended'}`
  if (status === 'killed') return 'was canceled, and nothing of it is left'
  if (error !== null && exit_code === null && signal === null) return `could not be run: ${error}`
  return signal === null ? `ended with exit code ${exit_code}` : `was ended by ${signal}`
}

/** What the node is told of the end of its job. */
export const endNotice = (job: JobRecord, end: JobEnd): string => {
  const tail = end.tail.trimEnd().slice(-tailLength)
  const output = tail ? `Its last lines:\n${tail}` : end.output_bytes ? '' : 'It printed nothing.'
  return [`Job ${job.id} \`${briefCommand(job.command)}\` ${endClause(end)}.`, output].filter(Boolean).join(' ')
}
