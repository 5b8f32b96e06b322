import { existsSync, realpathSync } from 'node:fs'
import type { SandboxPlan } from '#machine/sandbox/sandbox.plan.js'

/** What the host says over the channel that this process was forked with. */
export interface Serve {
  readonly type: 'serve'
  readonly node_id: string
  readonly generation: number
  readonly token: string
  readonly base_url: string
  readonly host_id: string
  readonly started_at: string
  readonly scratch_dir: string
  /** What the programs of the node may see and touch. */
  readonly plan: SandboxPlan
}

/** One without a plan is none: nothing of a node runs without. */
export const isServe = (message: unknown): message is Serve =>
  typeof message === 'object' && message !== null && 'type' in message && message.type === 'serve' && 'plan' in message

/** The node's plan, and the files in which its long outputs are kept, for reading: its programs are told of them. */
export const shownPlan = ({ plan, scratch_dir }: Serve): SandboxPlan => {
  if (!existsSync(scratch_dir)) return plan
  return { ...plan, mounts: [...plan.mounts, { path: realpathSync(scratch_dir), mode: 'read' }] }
}

/** Tells the host that this process is done with its node and may serve another. */
export const sayReleased = (serve: Serve, spawned: boolean): void => {
  const { node_id, generation } = serve
  // A channel that broke ends this process by its own event.
  process.send?.({ type: 'released', node_id, generation, spawned }, undefined, undefined, () => undefined)
}

/** The host wants the socket for viewers of the node that is served. */
export interface Attach {
  readonly type: 'attach'
  readonly node_id: string
  readonly generation: number
  readonly path: string
}

export const isAttach = (message: unknown): message is Attach =>
  typeof message === 'object' && message !== null && 'type' in message && message.type === 'attach'

/** @param fault why the socket could not be opened */
export const sayAttached = ({ path }: Attach, fault?: string): void => {
  process.send?.(
    { type: 'attached', path, ...(fault !== undefined && { fault }) },
    undefined,
    undefined,
    () => undefined,
  )
}
