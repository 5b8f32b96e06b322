import { textOf } from '../../support/daemon-processes.js'
import { must } from '../stage.js'
import type { ArmedCron } from './cron.cast.js'
import { type FireLine, isUnderWay, wasNeverBegun } from './cron.lines.js'

/** What effects a schedule had, looked at where they happened. */
export interface Effects {
  /** Nodes of its name. */
  readonly nodes: readonly { readonly id: string; readonly status: string }[]
  /** Messages of its name. */
  readonly messages: number
}

const linesOf = (path: string): string[] => textOf(path).split('\n').filter(Boolean)
const repeated = (values: readonly string[]): string[] => values.filter((value, at) => values.indexOf(value) !== at)

/** What doesn't hold of one schedule that has come to rest: each slot has a line, and each line the effect that it says. */
export const cronViolations = (cron: ArmedCron, lines: readonly FireLine[], effects: Effects): string[] => {
  const { plan } = cron
  const found = [
    ...must(!lines.some(isUnderWay), `a firing is under way: ${JSON.stringify(lines.filter(isUnderWay))}`),
    ...slots(cron, lines),
    ...lines.flatMap((line) => ending(cron, line).map((sentence) => `${sentence}: ${textOfLine(line)}`)),
    ...(plan.kind === 'create_node' ? nodes(cron, lines, effects) : []),
    ...(plan.kind === 'message' ? messages(lines, effects) : []),
    ...(plan.kind === 'bash' ? commands(cron, lines) : []),
  ]
  return found.map((sentence) => `${plan.tag} (${cron.id}, ${plan.fate}): ${sentence}`)
}

const textOfLine = ({ slot, status, cause, error, output, exit_code }: FireLine): string =>
  JSON.stringify({ slot, status, cause, error, output, exit_code })

/** By hand exactly those that were accepted; by the schedule its one slot, or every minute without a gap. */
const slots = ({ plan, byHand, deleted, since }: ArmedCron, lines: readonly FireLine[]): string[] => {
  const manual = lines.filter(({ trigger }) => trigger === 'manual').map(({ slot }) => slot)
  const scheduled = lines.filter(({ trigger }) => trigger === 'schedule')
  const found = must(
    manual.toSorted().join() === byHand.toSorted().join(),
    `fired by hand at ${byHand}, but the lines are at ${manual}`,
  )
  if (plan.course === 'each_minute') return [...found, ...minutes(since, scheduled)]
  if (plan.course === 'far')
    return [...found, ...must(scheduled.length === 0, `it is not due, but ${scheduled[0]?.slot} was`)]
  const { at } = plan.body.schedule as { at?: string }
  const told = scheduled.map((line) => line.slot)
  const right = told.join() === at || (told.length === 0 && (deleted || hasGone({ plan }, lines)))
  return [...found, ...must(right, `its slot is ${at}, but the lines are at ${told}`)]
}

/** Whether its first success was to be its end, which one by hand may have been before its slot. */
export const hasGone = ({ plan }: Pick<ArmedCron, 'plan'>, lines: readonly FireLine[]): boolean =>
  plan.body.delete_after_run === true && lines.some(({ status }) => status === 'succeeded')

const minute = 60_000

const minutes = (since: number, lines: readonly FireLine[]): string[] => {
  const found: string[] = []
  let next = Math.ceil(since / minute) * minute
  for (const { slot, last_slot, slots: count } of lines) {
    const [first, last] = [Date.parse(slot), Date.parse(last_slot)]
    // The first one may have come between its arming and the answer that told of it.
    if (first !== next && !(lines[0]?.slot === slot && first === next - minute))
      found.push(`after ${new Date(next - minute).toISOString()} comes ${slot}`)
    if ((last - first) / minute + 1 !== count) found.push(`${count} slots from ${slot} to ${last_slot}`)
    next = last + minute
  }
  return found
}

/** What the status of a line owes. */
const ending = ({ plan: { kind, exit }, deleted }: ArmedCron, line: FireLine): string[] => {
  const { status, cause, error, work, node_status } = line
  if (wasNeverBegun(line)) return must(work === null, 'it was never begun, but there is work of it')
  if (status === 'failed' && cause === 'refused')
    return [...must(error !== null, 'refused without a reason'), ...must(work === null, 'refused, but there is work')]
  if (kind === 'bash') return []
  if (status === 'canceled' && cause === 'cron_ended') return must(work === null, 'never begun, but there is work')
  // whoever tried it died without a word, and what it was to do went with the schedule
  if (status === 'unknown' && deleted) return must(work === null, 'unknown, but there is work')
  if (work === null) return ['begun, but lifecycle knows no work of it']
  const faulty = status === 'failed' && (error === null || error.message === '')
  if (kind === 'message') {
    const dealtWith = status === 'succeeded' || status === 'failed'
    return [...must(dealtWith, 'its message was not dealt with'), ...must(!faulty, 'failed without a fault')]
  }
  const wanted = { done: 'succeeded', dead: 'failed', canceled: 'canceled' }[node_status ?? '']
  return [
    ...must(status === wanted, `its node is ${node_status}`),
    ...must(status !== 'succeeded' || exit === 0, 'its program failed'),
    ...must(!faulty, 'failed without the fault of its node'),
  ]
}

const nodes = ({ plan }: ArmedCron, lines: readonly FireLine[], effects: Effects): string[] => {
  const begun = lines.flatMap(({ work }) => work?.node_id ?? [])
  const ran = linesOf(plan.effects)
  const ids = effects.nodes.map(({ id }) => id)
  return [
    ...must(ids.toSorted().join() === begun.toSorted().join(), `its nodes are ${ids}, of lines are ${begun}`),
    ...must(repeated(ran).length === 0, `programs ran twice: ${repeated(ran)}`),
    ...must(
      ran.every((id) => ids.includes(id)),
      `programs ran of no node: ${ran}`,
    ),
    ...effects.nodes.flatMap(({ id, status }) =>
      must(status !== 'done' || ran.includes(id), `${id} is done, but its program never ran`),
    ),
  ]
}

const messages = (lines: readonly FireLine[], effects: Effects): string[] => {
  const begun = lines.filter(({ work }) => work !== null).length
  return must(effects.messages === begun, `${effects.messages} messages of ${begun} firings`)
}

/** A command writes a word of its own to a file before it says the same word and ends. */
const commands = ({ plan }: ArmedCron, lines: readonly FireLine[]): string[] => {
  const ran = linesOf(plan.effects)
  const said = lines.flatMap(({ output }) => output?.trim() || [])
  const unseen = lines.filter(({ status, cause }) => status === 'unknown' || cause === 'outcome_unknown').length
  const silent = lines.filter(
    ({ status, cause, output }) => !output?.trim() && (status === 'succeeded' || cause === 'work_failed'),
  )
  const wrong = lines.filter(
    ({ status, exit_code }) => exit_code !== null && (status === 'succeeded') !== (exit_code === 0),
  )
  return [
    ...must(
      repeated(said).length === 0 && said.every((word) => ran.includes(word)),
      `said ${said}, but what ran is ${ran}`,
    ),
    ...must(
      ran.length - said.length <= unseen && ran.length >= said.length,
      `ran ${ran.length} times for ${said.length} ends that were seen and ${unseen} that were not`,
    ),
    ...must(silent.length === 0, `an end without what the command said: ${silent.map(textOfLine)}`),
    ...must(wrong.length === 0, `an exit code of another status: ${wrong.map(textOfLine)}`),
    ...must(plan.exit === 0 || !lines.some(({ status }) => status === 'succeeded'), 'succeeded, but the command fails'),
  ]
}
