import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CallLimits, defaultCallLimits } from '../../apps/models/src/call/call.limits.js'
import { ModelsModule } from '../../apps/models/src/models.module.js'
import {
  type ConversationMessage,
  contract,
  type LlmAnswer,
  type LlmItem,
  type ModelConfigDocument,
  type TurnCall,
} from '../../libs/common/src/contract/index.js'
import { settings } from '../../libs/common/src/kernel/config.js'
import { type Actor, type Context, systemContext } from '../../libs/common/src/kernel/context.js'
import { newId } from '../../libs/common/src/kernel/ids.js'
import { type RunningService, startService } from '../../libs/common/src/kernel/service.js'
import { joinBus, type TestPeer } from '../../libs/common/src/testing/bus.js'
import { type TestDatabase, testDatabase } from '../../libs/common/src/testing/database.js'
import { logInto } from '../../libs/common/src/testing/log-into.js'
import { MockModel } from '../../libs/common/src/testing/mock-model.js'
import { natsUrlAs, testNats } from '../../libs/common/src/testing/nats.js'

export interface ModelsReplica {
  readonly service: RunningService
  /** Everything that it logged, as text. */
  logged(): string
}

/** The models service over a database and a mock of its own, with the gateway and lifecycle played by the test. */
export interface ModelsUnderTest extends ModelsReplica {
  readonly database: TestDatabase
  readonly mock: MockModel
  /** As the gateway calls. */
  readonly gateway: TestPeer
  /** What lifecycle was told of usage. */
  readonly usage: Record<string, unknown>[]
  readonly url: { nats: string; keyFile: string; dataDir: string }
  /** Another process of the service, as far as the database can tell. */
  replica(limits?: Partial<CallLimits>): Promise<ModelsReplica>
  stop(): Promise<void>
}

export const startModels = async (limits: Partial<CallLimits> = {}): Promise<ModelsUnderTest> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-models-'))
  const database = await testDatabase()
  const mock = await MockModel.start()
  const nats = testNats().url
  const usage: Record<string, unknown>[] = []
  const record = contract['lifecycle.usage.record']
  const lifecycle = await joinBus(nats, 'lifecycle', {
    operations: [record],
    handlers: {
      [record.name]: async (_ctx: Context, input: unknown) => {
        usage.push(input as Record<string, unknown>)
        return { recorded: true }
      },
    },
  })
  const gateway = await joinBus(nats, 'gateway')
  const running: RunningService[] = []

  const replica = async (own: Partial<CallLimits> = limits): Promise<ModelsReplica> => {
    const lines: string[] = []
    const parsed = settings.parse({
      SVC_DATA_DIR: dataDir,
      DATABASE_URL: database.urlFor('models'),
      NATS_URL: natsUrlAs(nats, 'models'),
    })
    const definition = {
      name: 'models' as const,
      module: (setup: Parameters<typeof ModelsModule.forRoot>[0]) =>
        ModelsModule.forRoot(setup, { ...defaultCallLimits, ...own }),
    }
    const service = await startService(definition, {
      name: 'models',
      settings: parsed,
      log: logInto((line) => lines.push(line)),
    })
    running.push(service)
    return { service, logged: () => lines.join('') }
  }

  const first = await replica()
  return {
    ...first,
    database,
    mock,
    gateway,
    usage,
    url: { nats, keyFile: join(dataDir, 'keys/credentials.key'), dataDir },
    replica,
    stop: async () => {
      await Promise.all(running.map((service) => service.close()))
      await Promise.all([gateway.close(), lifecycle.close(), mock.stop()])
      await database.drop()
      await rm(dataDir, { recursive: true })
    },
  }
}

export const as = (actor: Partial<Actor> = {}, signal?: AbortSignal): Context => ({
  ...systemContext('gateway', signal),
  actor: { kind: 'owner', principal: 'owner', tokenId: null, scopes: ['*'], ...actor },
})

/** One openai-compatible provider `mock` that serves every strength by `mock/test-model`, without a key. */
export const useMock = (models: ModelsUnderTest, document: Partial<ModelConfigDocument> = {}): Promise<unknown> =>
  models.gateway.bus.call(contract['models.config.update'], as(), {
    providers: { mock: { type: 'openai-compatible', base_url: models.mock.baseUrl('openai-compatible') } },
    ladders: { medium: ['mock/test-model'] },
    prices: { 'mock/test-model': { input_per_million: 1_000_000, output_per_million: 2_000_000 } },
    ...document,
  } as never)

export const user = (text: string): ConversationMessage => ({ role: 'user', content: [{ type: 'text', text }] })

export const newNode = (): string => newId('node')

export const turnCall = (node: string, call: Partial<TurnCall> = {}): TurnCall & { id: string } => ({
  id: node,
  turn: 1,
  step: 1,
  strength: 'medium',
  messages: [user('hello')],
  tools: [],
  tool_choice: 'auto',
  ...call,
})

/** Asks as a broker does; `signal` is its connection. */
export const ask = (
  models: ModelsUnderTest,
  call: TurnCall & { id: string },
  signal?: AbortSignal,
): AsyncIterable<LlmItem> =>
  models.gateway.bus.stream(contract['nodes.broker.modelCall'], as({ kind: 'node', nodeId: call.id }, signal), call)

export const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

export interface Answered {
  readonly answer: LlmAnswer
  readonly replayed: boolean
  readonly unknown_attempts?: number
  /** Text that was streamed before the answer. */
  readonly streamed: string
}

export const answered = async (items: AsyncIterable<LlmItem>): Promise<Answered> => {
  const all = await collect(items)
  const last = all.at(-1)
  if (last?.type !== 'answer') throw new Error('the stream ended without an answer')
  const streamed = all.flatMap((item) => (item.type === 'text' ? [item.text] : [])).join('')
  return { ...last, streamed } as unknown as Answered
}

export const textOf = ({ content }: LlmAnswer): string =>
  content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')

/** Requests for an answer; lists of models, which probes ask for, don't count. */
export const bought = (mock: MockModel): number => mock.requests().filter(({ path }) => !/\/models$/.test(path)).length
