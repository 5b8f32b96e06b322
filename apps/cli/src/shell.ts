import { Output } from './output/output.js'

/** What surrounds a call: its environment, its streams, and the command line after `--`. */
export interface Shell {
  readonly env: NodeJS.ProcessEnv
  readonly out: Output
  /** The node that this command runs in, when an agent's tool calls it. */
  readonly nodeId: string | undefined
  /** What this caller may do, where it is known: a node's tools are told. */
  readonly scopes: readonly string[] | undefined
  /** What stands after `--`, for a program of the caller's. */
  readonly trailing: readonly string[]
}

export const openShell = (trailing: readonly string[], env: NodeJS.ProcessEnv = process.env): Shell => ({
  env,
  out: new Output(process.stdout, process.stderr, env),
  nodeId: env.SVC_NODE_ID || undefined,
  scopes: env.SVC_SCOPES?.split(' '),
  trailing,
})
