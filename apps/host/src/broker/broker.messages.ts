import type { SandboxPlan } from '#machine/sandbox/sandbox.plan.js'

/** What host and broker say to each other over the channel that the broker was forked with. */
export interface Serve {
  readonly type: 'serve'
  readonly node_id: string
  readonly generation: number
  readonly token: string
  readonly base_url: string
  readonly host_id: string
  /** Start of the broker's process, RFC 3339; with its pid its identity. */
  readonly started_at: string
  /** Directory of the node's own for what is too long to show; it exists. */
  readonly scratch_dir: string
  /** What the programs of the node may see and touch. */
  readonly plan: SandboxPlan
}

/** The broker is done with its node and may serve another. */
export interface Released {
  readonly type: 'released'
  readonly node_id: string
  readonly generation: number
  /** Whether it ran any process for the node. */
  readonly spawned: boolean
}

export const isReleased = (message: unknown): message is Released =>
  typeof message === 'object' && message !== null && 'type' in message && message.type === 'released'

/** The broker is to open its socket for viewers. */
export interface Attach {
  readonly type: 'attach'
  readonly node_id: string
  readonly generation: number
  readonly path: string
}

export interface Attached {
  readonly type: 'attached'
  readonly path: string
  /** Why it could not. */
  readonly fault?: string
}

export const isAttached = (message: unknown): message is Attached =>
  typeof message === 'object' && message !== null && 'type' in message && message.type === 'attached'
