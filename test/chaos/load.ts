import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { MockAnswer, MockModel } from '#common/testing/mock-model.js'
import type { Client, Job, NodeCreate } from '#sdk/index.js'
import type { TestDaemon } from '../support/daemon.js'
import { EventWatch } from '../support/event-watch.js'
import type { Random } from './random.js'
import { patience } from './stage.js'

export interface Expected {
  tag: string
  kind: 'exec' | 'loop' | 'resident'
  id: string
  watch: EventWatch
  /** Unique lines that its tools or its program write, each to `effects` at most once. */
  tokens: string[]
  effects: string
  /** Bodies of messages, each sent twice under one key. */
  messages: string[]
  /** What its job writes, at most once, to `<effects>.job`; asked for twice under one key. */
  job?: string
  /** The repository that its worktree is of. */
  repository?: string
}

export interface LoadOptions {
  daemon: TestDaemon
  /** Where clients reach it. */
  baseUrl: string
  /** For the files of the round. */
  directory: string
  mock: MockModel
  round: number
  random: Random
  onNode: (node: Expected) => void
}

/** Nodes of each kind, made at once by impatient clients; resolves when all were accepted and all messages too. */
export const startLoad = async (options: LoadOptions): Promise<void> => {
  const { daemon, baseUrl, directory, mock, round, random, onNode } = options
  const client = daemon.client({ ...patience, baseUrl })
  const repository = newRepository(directory)
  const plans = [
    ...[1, 2].map((n) => execPlan(`r${round}-exec-${n}`, directory, random)),
    withJob(execPlan(`r${round}-job-1`, directory, random)),
    inWorktree(execPlan(`r${round}-tree-1`, directory, random), repository),
    ...[1, 2].map((n) => loopPlan(`r${round}-loop-${n}`, directory, random, mock)),
    residentPlan(`r${round}-resident-1`, directory, random, mock),
  ]
  await Promise.all(
    plans.map(async ({ body, messages, ...plan }) => {
      const { id, cwd, worktree } = await client.nodes.create(body)
      const watch = new EventWatch({ baseUrl, token: daemon.token, node: id })
      onNode({ ...plan, id, watch, messages, ...(worktree && { effects: join(cwd, plan.tag) }) })
      for (const message of messages) await sendTwice(client, id, message)
      if (plan.job !== undefined) await startTwice(client, id, plan.job, `${plan.effects}.job`, random)
    }),
  )
}

type Plan = Pick<Expected, 'tag' | 'kind' | 'tokens' | 'effects' | 'messages' | 'job' | 'repository'> & {
  body: NodeCreate
}

const withJob = (plan: Plan): Plan => ({ ...plan, job: `${plan.tag}-job` })

/** The program works in a tree of its own, and writes into it as everywhere. */
const inWorktree = (plan: Plan, repository: string): Plan => ({
  ...plan,
  repository,
  body: { ...plan.body, cwd: repository, worktree: { branch: plan.tag } },
})

const newRepository = (directory: string): string => {
  const repository = join(directory, 'repository')
  const git = (...args: string[]) => execFileSync('git', ['-C', repository, ...args], { stdio: 'ignore' })
  mkdirSync(repository)
  git('init', '-b', 'main')
  git('-c', 'user.name=chaos', '-c', 'user.email=chaos@example.org', 'commit', '--allow-empty', '-m', 'first')
  return repository
}

/** Says so in the node's own file when another program of the same node holds the lock, or another process tree. */
const alone = (effects: string): string => `exec 9>>'${effects}.lock'; flock -n 9 || echo OVERLAP >> '${effects}'; `

const execPlan = (tag: string, cwd: string, random: Random): Plan => {
  const effects = join(cwd, tag)
  const program = `${alone(tag)}echo ${tag} >> '${tag}'; echo begun; sleep ${random.between(1, 20) / 10}; echo ended`
  return {
    tag,
    kind: 'exec',
    tokens: [tag],
    effects,
    messages: [],
    body: { name: tag, prompt: tag, cwd, engine: 'exec', lifecycle: 'terminal', exec: { argv: ['sh', '-c', program] } },
  }
}

const loopPlan = (tag: string, cwd: string, random: Random, mock: MockModel): Plan => {
  const effects = join(cwd, tag)
  const tokens = Array.from({ length: random.between(1, 3) }, (_, step) => `${tag}-step-${step + 1}`)
  const answers = tokens.map((token): MockAnswer => {
    const command = `${alone(effects)}echo ${token} >> '${effects}'; sleep 0.${random.between(0, 4)}`
    return { delay: random.between(0, 250), toolCalls: [{ name: 'bash', id: token, input: { command } }] }
  })
  const end = { name: 'report', id: `${tag}-end`, input: { kind: 'final', body: `${tag} is done` } }
  mock.conversation({ prompt: `<${tag}>` }, [...answers, { delay: random.between(0, 250), toolCalls: [end] }])
  return {
    tag,
    kind: 'loop',
    tokens,
    effects,
    messages: [],
    body: { name: tag, prompt: `Do <${tag}>`, cwd, lifecycle: 'terminal' },
  }
}

const residentPlan = (tag: string, cwd: string, random: Random, mock: MockModel): Plan => {
  const answers = Array.from(
    { length: 8 },
    (_, at): MockAnswer => ({
      delay: random.between(0, 250),
      text: `${tag} heard ${at + 1}`,
    }),
  )
  mock.conversation({ prompt: `<${tag}>` }, answers)
  const messages = [1, 2, 3].map((n) => `message ${n} for <${tag}>`)
  return {
    tag,
    kind: 'resident',
    tokens: [],
    effects: join(cwd, tag),
    messages,
    body: { name: tag, prompt: `Listen <${tag}>`, cwd, lifecycle: 'resident' },
  }
}

/** A job of a node, asked for by a client that didn't hear the first answer. */
const startTwice = async (
  client: Client,
  id: string,
  token: string,
  effects: string,
  random: Random,
): Promise<void> => {
  const command = `${alone(effects)}echo ${token} >> '${effects}'; sleep ${random.between(1, 20) / 10}`
  const headers = { 'idempotency-key': `${id} ${token}` }
  const start = () => client.request<Job>('POST', `/v1/nodes/${id}/jobs`, { command }, { headers })
  const [first, second] = await Promise.all([start(), start()])
  if (first.id !== second.id) throw new Error(`${id}: one key, two jobs`)
}

/** As a client does that didn't hear the first answer. */
const sendTwice = async (client: Client, id: string, body: string): Promise<void> => {
  const headers = { 'idempotency-key': `${id} ${body}` }
  const [first, second] = await Promise.all([
    client.nodes.message(id, { body }, { headers }),
    client.nodes.message(id, { body }, { headers }),
  ])
  if (first.message_id !== second.message_id) throw new Error(`${id}: one key, two messages`)
}
