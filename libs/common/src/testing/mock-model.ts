import type { Server } from 'node:http'
import { type ChatCompletionRequest, type FixtureOpts, type FixtureResponse, LLMock } from '@copilotkit/aimock'

export type MockProvider = 'openai' | 'openai-compatible' | 'anthropic' | 'google'

export interface MockToolCall {
  name: string
  input: Record<string, unknown>
  id?: string
}

/** One answer of the model: text, tool calls, or an error; and how it travels. */
export interface MockAnswer {
  text?: string
  toolCalls?: MockToolCall[]
  reasoning?: string
  /** An HTTP error instead: 429, 500, 404 (unknown model), 401. */
  error?: { status: number; message?: string; code?: string; retryAfter?: number }
  usage?: { input: number; output: number }
  /** Milliseconds before the first chunk. */
  delay?: number
  /** Milliseconds between chunks. */
  pace?: number
  /** Characters a chunk. */
  chunkSize?: number
  /** The connection breaks after so many chunks. */
  cutAfterChunks?: number
}

/** What a request holds: texts by their role, oldest first; `said` counts the answers of the model in it. */
export interface MockConversation {
  readonly system: string
  readonly user: readonly string[]
  /** Results of tools. */
  readonly tool: readonly string[]
  readonly said: number
}

export interface MockMatch {
  /** Must occur in the newest message of the user. */
  prompt?: string | RegExp
  model?: string
}

export interface ModelRequest {
  path: string
  headers: Record<string, string>
  /** As it came over the wire, in the provider's own form. */
  body: Record<string, unknown>
  /** What was answered. */
  status: number
}

/** A third-party server that speaks the providers' protocols, on a free loopback port. */
export class MockModel {
  private constructor(private readonly mock: LLMock) {}

  static async start(): Promise<MockModel> {
    const mock = new LLMock({ port: 0, host: '127.0.0.1', journalMaxEntries: 0 })
    await mock.start()
    const { server } = (mock as unknown as { serverInstance: { server: Server } }).serverInstance
    // By itself it goes on with a paced answer to nobody, to the last chunk.
    server.on('request', (_request, response) => response.on('close', () => response.end()))
    return new MockModel(mock)
  }

  /** To be given to a provider as its base URL. */
  baseUrl(provider: MockProvider): string {
    return `${this.mock.url}/${provider === 'google' ? 'v1beta' : 'v1'}`
  }

  /**
   * Answers conversations that match: the first answer goes to a request without an earlier turn of the assistant, the
   * second to one with one such turn, and so on; a request that is repeated gets the same answer again. Past the last
   * one the model is unknown (404). The first matching conversation wins.
   */
  conversation(match: MockMatch, answers: MockAnswer[]): this {
    for (const [turn, answer] of answers.entries()) {
      this.mock.on(
        {
          ...(match.prompt === undefined ? {} : { userMessage: match.prompt }),
          ...(match.model === undefined ? {} : { model: match.model }),
          predicate: (request) => turnOf(request) === turn,
        },
        responseOf(answer),
        travelOf(answer),
      )
    }
    return this
  }

  /**
   * Answers each request as `decide` says of its conversation; undefined leaves it to what was given later. A request that
   * is repeated must get the same answer, so `decide` looks at nothing else.
   */
  deciding(decide: (conversation: MockConversation) => MockAnswer | undefined): this {
    this.mock.addFixture({
      match: { predicate: (request) => decide(conversationOf(request)) !== undefined },
      response: (request) => responseOf(decide(conversationOf(request)) ?? {}),
    })
    return this
  }

  /** The same answer to every request that nothing earlier matches. */
  always(answer: MockAnswer): this {
    this.mock.on({}, responseOf(answer), travelOf(answer))
    return this
  }

  /** The next request, whatever it asks, gets this answer; before everything else and once. */
  next(answer: MockAnswer, times = 1): this {
    return this.before(answer, times, () => undefined)
  }

  /** Keeps the next request waiting for `answer` until the function that is returned is called. */
  hold(answer: MockAnswer): () => void {
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    this.before(answer, 1, () => gate)
    return release
  }

  /** Every request answered so far, oldest first. */
  requests(): ModelRequest[] {
    return this.mock.getRequests().map(({ path, headers, body, response }) => ({
      path,
      headers,
      body: (body ?? {}) as Record<string, unknown>,
      status: response.status,
    }))
  }

  /** Forgets answers and requests; the address stays. */
  reset(): void {
    this.mock.reset()
  }

  async stop(): Promise<void> {
    await this.mock.stop()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  private before(answer: MockAnswer, times: number, ready: () => Promise<void> | undefined): this {
    let left = times
    this.mock.prependFixture({
      match: { predicate: () => left > 0 },
      response: async () => {
        left -= 1
        await ready()
        return responseOf(answer)
      },
      ...travelOf(answer),
    })
    return this
  }
}

/** Starts the mock and registers the conversation, when one is given. */
export async function mockModel(...answers: MockAnswer[]): Promise<MockModel> {
  const model = await MockModel.start()
  return answers.length ? model.conversation({}, answers) : model
}

const turnOf = (request: ChatCompletionRequest): number =>
  request.messages.filter((message) => message.role === 'assistant').length

const conversationOf = (request: ChatCompletionRequest): MockConversation => {
  const of = (role: string): string[] =>
    request.messages.filter((message) => message.role === role).map(({ content }) => textIn(content))
  return { system: of('system').join('\n'), user: of('user'), tool: of('tool'), said: turnOf(request) }
}

const textIn = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : ((content ?? []) as { text?: string }[]).map(({ text = '' }) => text).join('\n')

function responseOf({ text, toolCalls, reasoning, error, usage }: MockAnswer): FixtureResponse {
  if (error) {
    const { status, message = `mock error ${status}`, code, retryAfter } = error
    return { error: { message, ...(code ? { code } : {}) }, status, ...(retryAfter ? { retryAfter } : {}) }
  }
  const common = { ...(reasoning ? { reasoning } : {}), ...(usage ? { usage: everyForm(usage) } : {}) }
  if (!toolCalls) return { content: text ?? '', ...common }
  const calls = toolCalls.map(({ input, ...call }) => ({ ...call, arguments: JSON.stringify(input) }))
  return text === undefined ? { toolCalls: calls, ...common } : { content: text, toolCalls: calls, ...common }
}

/** Each provider reads its own names. */
const everyForm = ({ input, output }: { input: number; output: number }) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  input_tokens: input,
  output_tokens: output,
  promptTokenCount: input,
  candidatesTokenCount: output,
  totalTokenCount: input + output,
})

const travelOf = ({ delay, pace, chunkSize, cutAfterChunks }: MockAnswer): FixtureOpts => ({
  ...(delay === undefined ? {} : { streamingProfile: { ttft: delay } }),
  ...(pace === undefined ? {} : { latency: pace }),
  ...(chunkSize === undefined ? {} : { chunkSize }),
  ...(cutAfterChunks === undefined ? {} : { truncateAfterChunks: cutAfterChunks }),
})
