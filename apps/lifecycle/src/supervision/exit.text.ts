import type { BrokerExit } from '#common/contract/internal.operations.js'

/** Characters of a process's last words that a fault repeats. */
const longest = 300

/** Its last line that a person can read: frames of a stack and what the runtime adds below them say nothing to one. */
const lastWords = (detail: string): string | undefined =>
  detail
    .split('\n')
    .map((line) => line.trim())
    .findLast((line) => line !== '' && !/^(at |Node\.js v|[\w./-]*:?\d+:\d+\)?$)/.test(line))
    ?.slice(0, longest)

/** How the process that hosted a node ended. */
export const exitText = ({
  signal,
  exit_code,
  detail,
}: Pick<BrokerExit, 'signal' | 'exit_code' | 'detail'>): string => {
  const how = signal ? `was killed by ${signal}` : `exited with ${exit_code}`
  const why = detail ? lastWords(detail) : undefined
  return why ? `its process ${how}: ${why}` : `its process ${how}`
}
