import type { NodeEvent } from '#sdk/index.js'
import { clockTime, lasting } from '../clock.js'
import { inputText } from '../node/event.line.js'
import { eventMailText } from '../node/event.mail.text.js'
import type { Output } from '../output/output.js'
import { brief, oneLine } from '../output/table.js'
import { padded } from '../output/width.js'

type Fields = Readonly<Record<string, unknown>>
type Colour = 'green' | 'red' | 'yellow' | 'blue' | 'cyan' | 'magenta' | 'dim'

const nameWidth = 18
const typeWidth = 18

const ofType: Readonly<Record<string, Colour>> = {
  'node.created': 'cyan',
  'node.done': 'green',
  'node.dead': 'red',
  'node.fault': 'red',
  'node.canceled': 'yellow',
  'worktree.failed': 'red',
  'model.call_unknown': 'yellow',
  'question.asked': 'yellow',
}
const ofFamily: Readonly<Record<string, Colour>> = {
  tool: 'blue',
  job: 'blue',
  report: 'green',
  result: 'green',
  child: 'magenta',
  worktree: 'cyan',
  question: 'yellow',
}

const colourOf = (type: string): Colour => ofType[type] ?? ofFamily[type.split('.')[0] as string] ?? 'dim'

const textOf = (content: unknown): string =>
  ((content ?? []) as readonly { type: string; text?: string; name?: string }[])
    .map(({ type, text, name }) => (type === 'tool_call' ? `→ ${name}` : type === 'text' ? text : ''))
    .filter(Boolean)
    .join(' ')

const faultText = (fault: unknown): string => {
  const { kind, message } = (fault ?? {}) as { kind?: string; message?: string }
  return [kind, message].filter(Boolean).join(': ')
}

/** What an event is about, in a few words. */
const detailOf = (type: string, data: Fields, nameOf: (id: string) => string): string => {
  switch (type) {
    case 'node.created':
      return [data.kind, data.engine, data.parent_id ? `below ${nameOf(String(data.parent_id))}` : '']
        .filter(Boolean)
        .join(' ')
    case 'message.accepted':
      return `${data.tier} ${data.kind}: ${eventMailText(data.source) ?? data.body}`
    case 'message.completed':
      return `${data.role === 'assistant' ? '' : `${data.role}: `}${textOf(data.content)}`
    case 'tool.started':
      return `${data.name} ${inputText(data.input, String(data.name))}`
    case 'tool.ended':
      return [data.name, data.status, typeof data.duration_ms === 'number' ? lasting(data.duration_ms) : ''].join(' ')
    case 'report.pushed':
      return `${data.kind}: ${data.body}`
    case 'turn.ended':
      return [`turn ${data.turn}`, data.status, faultText(data.fault)].filter(Boolean).join(' ')
    case 'node.fault':
    case 'node.dead':
      return faultText(data.fault)
    case 'child.reported':
    case 'child.ended':
      return [nameOf(String(data.node_id ?? data.child_id ?? '')), data.kind ?? data.status].filter(Boolean).join(' ')
    default:
      return Object.entries(data)
        .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
        .map(([name, value]) => `${name}=${value}`)
        .join(' ')
  }
}

/** `12:03:44  builder  tool.started  bash make`, as wide as the screen. */
export const feedLine = (event: NodeEvent, name: string, out: Output, nameOf: (id: string) => string): string => {
  const { type, data } = event
  const colour = colourOf(type)
  const narrow = out.isTerminal && out.columns < 70
  const names = padded(brief(oneLine(name), narrow ? 10 : nameWidth), narrow ? 10 : nameWidth)
  const head = narrow ? '' : `${out.paint('dim', clockTime(event.time))}  `
  const kind = out.paint(colour, padded(type, narrow ? 0 : typeWidth))
  const taken = (narrow ? 0 : 10) + (narrow ? 10 : nameWidth) + Math.max(type.length, narrow ? 0 : typeWidth) + 5
  const room = out.isTerminal ? Math.max(10, out.columns - taken) : 200
  const detail = brief(oneLine(detailOf(type, data, nameOf).trim()), room)
  return `${head}${names}  ${kind}  ${colour === 'dim' ? out.paint('dim', detail) : detail}`.trimEnd()
}
