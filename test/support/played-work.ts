import {
  type Authority,
  type CronAction,
  contract,
  type InputOf,
  type OutputOf,
} from '../../libs/common/src/contract/index.js'
import { type Clock, isoTime, systemClock } from '../../libs/common/src/kernel/clock.js'
import type { Context } from '../../libs/common/src/kernel/context.js'
import { SvcError } from '../../libs/common/src/kernel/errors.js'
import { newId } from '../../libs/common/src/kernel/ids.js'
import { joinBus, type TestPeer } from '../../libs/common/src/testing/bus.js'

type Work = OutputOf<(typeof contract)['lifecycle.work.states']>['works'][number]
type Concern = InputOf<(typeof contract)['lifecycle.concern.set']>
type Asked = { readonly by: Authority; readonly action: CronAction }

const served = [
  contract['lifecycle.work.check'],
  contract['lifecycle.work.start'],
  contract['lifecycle.work.states'],
  contract['lifecycle.work.actor'],
  contract['lifecycle.concern.set'],
] as const

interface KnownNode {
  /** The node and all above it. */
  readonly path: readonly string[]
  readonly appId: string | null
  readonly profile: string | null
}

/** Lifecycle's side of schedules, played at the wire: takes every work of nodes that it knows, and follows orders about its end. */
export class PlayedWork {
  readonly nodes = new Map<string, KnownNode>()
  readonly checks: Asked[] = []
  /** Every start that was asked for, repetitions too. */
  readonly starts: (Asked & { readonly key: string })[] = []
  /** What was begun, once for its key. */
  readonly works = new Map<string, Work & { message_id: string }>()
  readonly concerns: Concern[] = []
  /** Refuses a check or a start by throwing. */
  onCheck: (asked: Asked) => void | Promise<void> = () => undefined
  onStart: (asked: Asked & { key: string }) => void | Promise<void> = () => undefined
  #peer: TestPeer | undefined

  /** @param clock what tells the time at which works are accepted and end */
  constructor(
    private readonly nats: string,
    private readonly clock: Clock = systemClock,
  ) {}

  async join(): Promise<void> {
    this.#peer = await joinBus(this.nats, 'lifecycle', {
      operations: served,
      handlers: {
        'lifecycle.work.check': (_ctx: Context, input: unknown) => this.#check(input as Asked),
        'lifecycle.work.start': (_ctx: Context, input: unknown) => this.#start(input as Asked & { key: string }),
        'lifecycle.work.states': async (_ctx: Context, input: unknown) => ({
          works: (input as { keys: string[] }).keys.map((key) => this.#state(key)),
        }),
        'lifecycle.work.actor': async (_ctx: Context, input: unknown) => {
          const { by } = input as { by: Authority }
          const node = by.node_id === null ? undefined : this.#known(by.node_id)
          return {
            scopes: by.scopes,
            place: null,
            generation: node ? 1 : null,
            app_id: node ? node.appId : by.app_id,
            profile: node ? node.profile : by.profile,
          }
        },
        'lifecycle.concern.set': async (_ctx: Context, input: unknown) => {
          this.concerns.push(input as Concern)
          return { noted: true }
        },
      },
    })
  }

  /** Nobody answers until it joins again. */
  async leave(): Promise<void> {
    await this.#peer?.close()
    this.#peer = undefined
  }

  /** A node, below another where one is given. */
  node(of: { under?: string; appId?: string; profile?: string } = {}): string {
    const id = newId('node')
    const above = of.under === undefined ? undefined : this.#known(of.under)
    this.nodes.set(id, {
      path: [id, ...(above?.path ?? [])],
      appId: of.appId ?? above?.appId ?? null,
      profile: of.profile ?? above?.profile ?? null,
    })
    return id
  }

  /** The work of a key ends so; it is told when next asked. */
  end(key: string, state: 'succeeded' | 'failed' | 'canceled', error: Work['error'] = null): void {
    const work = this.works.get(key)
    if (!work) throw new Error(`no work was begun under ${key}`)
    this.works.set(key, { ...work, state, error, ended_at: isoTime(this.clock.now()) })
  }

  /** The works of a schedule, in the order in which they were begun. */
  of(cronId: string): (Work & { message_id: string })[] {
    return [...this.works.values()].filter(({ key }) => key.startsWith(`${cronId}:`))
  }

  async #check(asked: Asked): Promise<OutputOf<(typeof contract)['lifecycle.work.check']>> {
    this.checks.push(asked)
    await this.onCheck(asked)
    return this.#answer(asked)
  }

  #answer({ by, action }: Asked): OutputOf<(typeof contract)['lifecycle.work.check']> {
    if (action.type === 'message') this.#known(action.node_id as string)
    const node = by.node_id === null ? undefined : this.#known(by.node_id)
    return {
      owner_path: [...(node?.path ?? [])],
      app_id: node ? node.appId : by.app_id,
      profile: node ? node.profile : by.profile,
    }
  }

  async #start(asked: Asked & { key: string }): Promise<OutputOf<(typeof contract)['lifecycle.work.start']>> {
    this.starts.push(asked)
    const known = this.works.get(asked.key)
    if (!known) {
      await this.onStart(asked)
      this.#answer(asked)
    }
    const node_id = asked.action.type === 'message' ? (asked.action.node_id as string) : newId('node')
    const work = this.works.get(asked.key) ?? {
      key: asked.key,
      state: 'running' as const,
      node_id,
      message_id: newId('msg'),
      ended_at: null,
      error: null,
    }
    this.works.set(asked.key, work)
    return {
      key: asked.key,
      node_id: work.node_id as string,
      message_id: work.message_id,
      accepted_at: isoTime(this.clock.now()),
    }
  }

  #state(key: string): Work {
    const work = this.works.get(key)
    if (!work) return { key, state: 'absent', node_id: null, ended_at: null, error: null }
    const { message_id: _, ...state } = work
    return state
  }

  #known(id: string): KnownNode {
    const node = this.nodes.get(id)
    if (!node) throw new SvcError('not_found', `There is no node ${id}.`, { resource: 'node', id })
    return node
  }
}
