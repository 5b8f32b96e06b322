import type { StreamItem } from '#sdk/index.js'
import { lasting, monotonic } from '../clock.js'
import type { Output } from '../output/output.js'
import { brief } from '../output/table.js'

interface Running {
  readonly name: string
  readonly since: number
}

const looks = { active: 'green', idle: 'cyan', done: 'dim', dead: 'red', canceled: 'dim' } as const
type Status = keyof typeof looks

const shortCount = (count: number): string => (count < 1000 ? String(count) : `${(count / 1000).toFixed(1)}k`)

/** What a node is at, in one line: its turn, what runs and for how long, its children, what it cost. */
export class WatchStatus {
  #name = ''
  #status: Status = 'active'
  #turn: number | undefined
  #writing = false
  #waits = false
  #fault: string | undefined
  #context = 0
  #cost = 0
  readonly #tools = new Map<string, Running>()
  readonly #children = new Map<string, boolean>()

  constructor(
    private readonly out: Output,
    private readonly root: string,
  ) {}

  get text(): string {
    if (this.#name === '') return ''
    const { out } = this
    const now = monotonic()
    const tools = [...this.#tools.values()].map(({ name, since }) => `${name} ${lasting(now - since)}`)
    const live = [...this.#children.values()].filter(Boolean).length
    const facts = [
      this.#waits ? 'waits' : this.#status,
      this.#turn === undefined ? '' : `turn ${this.#turn}`,
      ...tools.slice(0, 3),
      tools.length > 3 ? `${tools.length - 3} more tools` : '',
      this.#writing && tools.length === 0 ? 'writing' : '',
      this.#children.size > 0 ? `${this.#children.size} below, ${live} live` : '',
      this.#context > 0 ? `context ${shortCount(this.#context)}` : '',
      this.#cost > 0 ? `$${this.#cost.toFixed(2)}` : '',
    ].filter(Boolean)
    const fault = this.#fault ? ` ${out.paint('red', `! ${this.#fault}`)}` : ''
    return `${out.paint(looks[this.#status], '●')} ${brief(this.#name, 30)} ${out.paint('dim', facts.join(' · '))}${fault}`
  }

  learn({ type, data, ...rest }: StreamItem): void {
    const subject = String(data.node_id ?? (rest as { subject?: unknown }).subject ?? this.root)
    if (type === 'snapshot') this.#begin(data.node as Record<string, unknown> | undefined)
    else if (subject !== this.root) this.#ofChild(subject, type)
    else this.#own(type, data)
  }

  #begin(node: Record<string, unknown> | undefined): void {
    if (!node) return
    const { cost_usd = 0, context_tokens = 0 } = (node.usage ?? {}) as { cost_usd?: number; context_tokens?: number }
    this.#name = String(node.name)
    this.#status = node.status as Status
    this.#cost = cost_usd
    this.#context = context_tokens
    this.#waits = node.waiting !== null && node.waiting !== undefined
    this.#fault = (node.fault as { kind?: string } | null)?.kind
  }

  #ofChild(id: string, type: string): void {
    const ended = /^node\.(done|dead|canceled)$/.test(type)
    if (ended || type === 'node.created' || type === 'node.revived') this.#children.set(id, !ended)
  }

  #own(type: string, data: Readonly<Record<string, unknown>>): void {
    switch (type) {
      case 'delta':
        this.#writing = data.channel === 'text' || data.channel === 'reasoning'
        return
      case 'message.completed':
        this.#writing = false
        return
      case 'turn.started':
        this.#turn = Number(data.turn)
        this.#status = 'active'
        this.#waits = false
        return
      case 'turn.ended':
        this.#writing = false
        this.#tools.clear()
        return
      case 'tool.started':
        this.#tools.set(String(data.call_id), { name: String(data.name), since: monotonic() })
        return
      case 'tool.ended':
        this.#tools.delete(String(data.call_id))
        return
      case 'node.usage':
        this.#context = Number(data.context_tokens ?? this.#context)
        return
      case 'node.fault':
        this.#fault = (data.fault as { kind?: string } | null)?.kind
        return
      case 'node.fault_cleared':
        this.#fault = undefined
        return
      case 'node.waiting':
        this.#waits = true
        return
      case 'node.woken':
      case 'node.revived':
      case 'node.launching':
        this.#waits = false
        this.#status = 'active'
        return
      case 'child.ended':
        this.#children.set(String(data.node_id ?? data.child_id), false)
        return
      default:
        if (!/^node\.(idle|done|dead|canceled)$/.test(type)) return
        this.#status = type.slice('node.'.length) as Status
        this.#tools.clear()
        this.#writing = false
    }
  }
}
