/** A call's failure that the model can do something about; its text says what. */
export class ToolError extends Error {}

export interface ToolRun {
  readonly turn: number
  readonly callId: string
  /** Whether the process that ran this call before was lost meanwhile; only for tools that are repeatable. */
  readonly repeated: boolean
  /** Fires when the call is to be given up. */
  readonly signal: AbortSignal
  /** Shows output while the call runs. */
  tell(text: string): void
}

/** An image that the model is shown beside the text. */
export interface ToolImage {
  readonly content_type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
  readonly base64: string
}

export interface ToolResult {
  readonly output: string
  readonly images?: ToolImage[]
  /** `completed` unless named. */
  readonly status?: 'completed' | 'failed' | 'canceled'
  readonly exitCode?: number | null
  /** The node's work ends with this call. */
  readonly ends?: boolean
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly inputSchema: Record<string, unknown>
  /** Whether it reaches the machine, other nodes or people: then the node needs `svc:act`. */
  readonly acts: boolean
  /** Whether it fits what the node is at the moment; it does unless this says otherwise. */
  offered?(): boolean
  /** Whether carrying the same call out again has no second effect; of some inputs alone, where it is a function. */
  readonly repeatable?: boolean | ((input: Record<string, unknown>) => boolean)
  /**
   * Whether it may end the turn: it is carried out after the calls that were made along with it, and not at all when one of
   * these failed, since the model has to see that first.
   */
  readonly last?: boolean | ((input: Record<string, unknown>) => boolean)
  run(input: Record<string, unknown>, call: ToolRun): Promise<ToolResult>
}

export const schemaOf = (properties: Record<string, unknown>, required: string[]): Record<string, unknown> => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
