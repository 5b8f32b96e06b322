import { lasting } from '../clock.js'
import type { Output } from '../output/output.js'
import { brief } from '../output/table.js'
import { eventMailText } from './event.mail.text.js'
import { jobState } from './job.text.js'

type Fields = Readonly<Record<string, unknown>>

/** A tool that took at least this long (ms) is worth a word when it is done. */
const worthSaying = 1000

/**
 * One line for a durable event; undefined for those that a person has no use for.
 *
 * @param nameOf what a node is called
 */
export const eventLine = (
  type: string,
  data: Fields,
  out: Output,
  nameOf: (id: string) => string = (id) => id,
): string | undefined => {
  const quiet = (text: string) => out.paint('dim', text)
  switch (type) {
    case 'tool.started':
      return `${out.paint('blue', '▸')} ${data.name} ${quiet(brief(inputText(data.input, String(data.name)), 100))}`
    case 'tool.ended':
      return toolEnd(data, out)
    case 'job.started':
      return `${out.paint('blue', '▸')} ${data.job_id} ${quiet(brief(String(data.command ?? ''), 100))}`
    case 'job.ended':
      return out.paint(data.exit_code === 0 ? 'dim' : 'yellow', `  ${data.job_id}: ${jobState(data)}`)
    case 'report.pushed':
      return `${out.paint('green', `${data.kind} report`)}\n${data.body}`
    case 'result.submitted':
      return `${out.paint('green', 'result')} ${JSON.stringify(data.value)}`
    case 'message.accepted':
      return data.kind === 'prompt'
        ? undefined
        : quiet(`← ${data.tier} ${data.kind}: ${eventMailText(data.source) ?? brief(String(data.body ?? ''), 100)}`)
    case 'node.fault':
      return out.paint('red', `fault: ${faultText(data.fault)}`)
    case 'node.dead':
      return out.paint('red', `dead: ${faultText(data.fault)}`)
    case 'node.done':
    case 'node.canceled':
    case 'node.idle':
    case 'node.interrupted':
    case 'node.revived':
      return quiet(type.slice('node.'.length))
    case 'node.launching':
      return Number(data.generation) > 1
        ? quiet(`starting again, generation ${data.generation}${data.reason ? `: ${data.reason}` : ''}`)
        : undefined
    case 'worktree.opened':
      return quiet(`worktree on ${data.branch}`)
    case 'worktree.closed':
    case 'worktree.abandoned':
      return quiet(`${type.replace('.', ' ')}: ${data.branch}${data.commit ? ` at ${data.commit}` : ''}`)
    case 'worktree.failed':
      return out.paint('red', `no worktree: ${data.message}`)
    case 'model.call_unknown':
      return out.paint('yellow', 'the end of a model call is unknown')
    case 'child.reported':
    case 'child.ended':
      return quiet(`${type.replace('.', ' ')}: ${nameOf(String(data.node_id ?? data.child_id ?? ''))}`)
    case 'node.waiting':
      return quiet(`waits${data.reason ? `: ${brief(String(data.reason), 80)}` : ''}`)
    case 'node.yielded':
    case 'node.refreshed':
    case 'node.promoted':
    case 'node.demoted':
    case 'node.recycled':
    case 'node.relaunched':
    case 'roadmap.changed':
    case 'context.compacted':
      return quiet(type.replace(/^node\./, '').replace('.', ' '))
    case 'node.forked':
      return quiet(`forked after turn ${data.turn}: ${data.fork}`)
    case 'question.asked':
      return out.paint('yellow', `asks: ${brief(String(data.title ?? ''), 100)}`)
    default:
      return undefined
  }
}

const toolEnd = (data: Fields, out: Output): string | undefined => {
  const took = typeof data.duration_ms === 'number' && data.duration_ms >= worthSaying ? lasting(data.duration_ms) : ''
  if (data.status === 'completed') return took ? out.paint('dim', `  ${data.name}: ${took}`) : undefined
  return out.paint('yellow', `  ${data.name}: ${data.status}${exitText(data.exit_code)}${took ? `, ${took}` : ''}`)
}

/** What a person wants to know of the inputs of tools that have several. */
const ofTool: Readonly<Record<string, (input: Fields) => unknown[]>> = {
  spawn: ({ name, prompt }) => [name, prompt],
  message: ({ node_id, body }) => [node_id, body],
  report: ({ kind, body }) => [kind, body],
  roadmap: ({ action, text }) => [action, text],
  promote: ({ roadmap }) => [roadmap],
  wait: ({ reason, timeout }) => [reason, timeout === undefined ? undefined : `${timeout} s at most`],
  ask_human: ({ title, questions }) => [title ?? (questions as readonly Fields[] | undefined)?.[0]?.question],
}

const toldOf = (name: string | undefined, input: object): string | undefined => {
  const texts = name === undefined ? undefined : ofTool[name]?.(input as Fields)
  return texts?.filter((text) => typeof text === 'string' && text !== '').join(': ') || undefined
}

/**
 * A command as it is typed; other inputs as JSON.
 *
 * @param name of the tool
 */
export const inputText = (input: unknown, name?: string): string => {
  if (typeof input === 'object' && input !== null) {
    const told = toldOf(name, input)
    if (told !== undefined) return told
    const { argv } = input as { argv?: unknown }
    if (Array.isArray(argv)) return argv.join(' ')
    const [only, ...others] = Object.values(input)
    if (typeof only === 'string' && !others.length) return only
    const command = (input as { command?: unknown }).command
    if (typeof command === 'string') return command
  }
  return typeof input === 'string' ? input : JSON.stringify(input ?? '')
}

const exitText = (code: unknown): string => (typeof code === 'number' ? `, exit code ${code}` : '')

const faultText = (fault: unknown): string => {
  const { kind, message } = (fault ?? {}) as { kind?: string; message?: string }
  return [kind, message].filter(Boolean).join(': ') || 'unknown'
}
