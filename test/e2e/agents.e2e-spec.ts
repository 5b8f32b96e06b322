import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type MockAnswer, type MockConversation, MockModel } from '#common/testing/mock-model.js'
import { take, waitFor } from '#common/testing/wait-for.js'
import type { Client, HumanRequest, Node } from '#sdk/index.js'
import { TestDaemon } from '../support/daemon.js'
import { startPatientProvider } from '../support/patient-provider.js'

const patience = { timeout: 60_000 }
const pieces = ['a', 'b', 'c'] as const

let daemon: TestDaemon
let mock: MockModel
let client: Client
beforeAll(async () => {
  ;[daemon, mock] = await Promise.all([TestDaemon.start(), MockModel.start()])
  client = daemon.client({ timeout: 90_000 })
  await daemon.useModel(mock)
})
afterAll(() => Promise.all([daemon.stop(), mock.stop()]))

const call = (name: string, input: Record<string, unknown>): MockAnswer => ({ toolCalls: [{ name, input }] })
const report = (body: string): MockAnswer => call('report', { kind: 'final', body })

/** What a node answers that was given this work. */
const script = (prompt: string, answer: (conversation: MockConversation) => MockAnswer): void => {
  mock.deciding((conversation) => (conversation.user[0]?.includes(prompt) ? answer(conversation) : undefined))
}

const directory = (name: string): string => {
  const path = join(daemon.workDir, name)
  mkdirSync(path)
  return path
}

const belowOf = async ({ id }: Node): Promise<Node[]> =>
  (await client.nodes.list({ under: id })).data.filter((node) => node.id !== id)

const settled = (id: string) => client.nodes.waitForOutcome(id)

describe('an agent that hands its work on', () => {
  it('starts three children at once, rests at no cost until they have reported, and finishes', async () => {
    const cwd = directory('three')
    script('lead the three', ({ said, user }) => {
      if (said === 0)
        return { toolCalls: pieces.map((name) => ({ name: 'spawn', input: { name, prompt: `piece ${name}` } })) }
      const done = pieces.filter((name) => user.some((text) => text.includes(`${name} is built`)))
      return done.length < pieces.length ? call('wait', { reason: 'three pieces' }) : report(`built: ${done.join()}`)
    })
    for (const name of pieces) {
      script(`piece ${name}`, ({ said }) =>
        said === 0
          ? call('bash', { command: `touch at-${name}; until [ -e go-${name} ]; do sleep 0.05; done` })
          : report(`${name} is built`),
      )
    }

    const lead = await client.nodes.create({ prompt: 'lead the three', cwd, lifecycle: 'terminal' })
    await waitFor(() => pieces.every((name) => existsSync(join(cwd, `at-${name}`))), patience)
    const resting = await waitFor(async () => {
      const now = await client.nodes.retrieve(lead.id)
      return now.status === 'idle' && now
    }, patience)
    expect(resting).toMatchObject({ broker: null, waiting: { until: null, reason: 'three pieces' } })
    const children = await belowOf(lead)
    expect(children.map(({ name, parent_id, lifecycle }) => [name, parent_id, lifecycle]).sort()).toEqual(
      pieces.map((name) => [name, lead.id, 'terminal']),
    )

    writeFileSync(join(cwd, 'go-b'), '')
    await settled(children.find(({ name }) => name === 'b')?.id as string)
    await waitFor(async () => (await client.nodes.retrieve(lead.id)).cycles === 2, patience)
    for (const name of ['a', 'c']) writeFileSync(join(cwd, `go-${name}`), '')

    expect(await settled(lead.id)).toMatchObject({ status: 'done', final_report: { body: 'built: a,b,c' } })
    expect((await belowOf(lead)).map(({ status }) => status)).toEqual(['done', 'done', 'done'])
  })

  it('is not over with its last words while a child is at work, and needs no `wait` for that', async () => {
    const cwd = directory('silent')
    script('lead in silence', ({ said, user }) => {
      if (said === 0) return call('spawn', { prompt: 'the only piece' })
      return user.some((text) => text.includes('it is there')) ? report('all there') : { text: 'It is at work.' }
    })
    script('the only piece', ({ said }) =>
      said === 0 ? call('bash', { command: 'until [ -e go ]; do sleep 0.05; done' }) : report('it is there'),
    )

    const lead = await client.nodes.create({ prompt: 'lead in silence', cwd, lifecycle: 'terminal' })
    await waitFor(async () => (await client.nodes.retrieve(lead.id)).status === 'idle', patience)
    writeFileSync(join(cwd, 'go'), '')

    expect(await settled(lead.id)).toMatchObject({ status: 'done', final_report: { body: 'all there' } })
  })

  // The model call is bought, the request may have been answered or not: whatever was lost, there is one child.
  it('makes exactly one child when its process is killed while it starts one', async () => {
    const cwd = directory('killed')
    const names = ['k1', 'k2', 'k3', 'k4']
    for (const name of names) {
      script(`lead ${name}`, ({ said, user }) => {
        if (said === 0) return call('spawn', { name, prompt: `child of ${name}` })
        return user.some((text) => text.includes(`${name} reports`)) ? report(`${name} over`) : call('wait', {})
      })
      script(`child of ${name}`, () => report(`${name} reports`))
    }

    const leads = await Promise.all(
      names.map((name) => client.nodes.create({ prompt: `lead ${name}`, cwd, lifecycle: 'terminal' })),
    )
    await Promise.all(leads.map(({ id }) => killAtSpawn(id)))

    for (const lead of leads) {
      expect(await settled(lead.id)).toMatchObject({ status: 'done' })
      expect((await belowOf(lead)).map(({ status }) => status)).toEqual(['done'])
      expect((await client.nodes.retrieve(lead.id)).generation).toBeGreaterThan(1)
    }
  })

  const killAtSpawn = async (id: string): Promise<void> => {
    const events = await take(
      client.nodes.events(id),
      ({ type, data }) => type === 'tool.started' && data.name === 'spawn',
    )
    const pid = events.find(({ type }) => type === 'node.bound')?.data.pid
    process.kill(pid as number, 'SIGKILL')
  }
})

describe('agents that hand everything on', () => {
  // Fault 19.
  it('come to an end eight deep, where the last one is told to do the work itself', async () => {
    const cwd = directory('deep')
    script('dig on', ({ said, tool, user }) => {
      if (said === 0) return call('spawn', { prompt: 'dig on' })
      if (tool.some((text) => text.includes('do this piece of work yourself'))) return report('the ground')
      return user.some((text) => text.includes('the ground')) ? report('the ground') : call('wait', {})
    })

    const top = await client.nodes.create({ prompt: 'dig on', cwd, lifecycle: 'terminal' })

    expect(await settled(top.id)).toMatchObject({ status: 'done', final_report: { body: 'the ground' } })
    expect((await belowOf(top)).map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 'done'))
  })
})

describe('an agent that makes itself an orchestrator', () => {
  it('keeps a roadmap from its next step on, and stays', async () => {
    const cwd = directory('promoted')
    script('grow', ({ said }) => {
      if (said === 0) return call('promote', { roadmap: '# Grow', resident: true })
      if (said === 1) return call('roadmap', { action: 'write', text: '# Grow\n1. taller', if_match: 1 })
      return { text: 'I have a plan.' }
    })

    const node = await client.nodes.create({ prompt: 'grow', cwd, lifecycle: 'terminal' })
    await settled(node.id)

    expect(await client.nodes.retrieve(node.id)).toMatchObject({
      mode: 'orchestrator',
      lifecycle: 'resident',
      status: 'idle',
    })
    const roadmap = await client.request<{ text: string }>('GET', `/v1/nodes/${node.id}/roadmap`)
    expect(roadmap.text).toBe('# Grow\n1. taller')
  })
})

describe('an agent that gives up its context', () => {
  it('begins anew with its note and its mandate, and its children find it there', async () => {
    const cwd = directory('fresh')
    script('cross two contexts', ({ said, user }) => {
      const fresh = user.some((text) => text.includes('halfway over'))
      if (!fresh) return said === 0 ? call('spawn', { prompt: 'one bridge' }) : call('yield', { note: 'halfway over' })
      return user.some((text) => text.includes('it stands')) ? report('over') : call('wait', {})
    })
    script('one bridge', ({ said }) =>
      said === 0 ? call('bash', { command: 'until [ -e go ]; do sleep 0.05; done' }) : report('it stands'),
    )

    const node = await client.nodes.create({ prompt: 'cross two contexts', cwd, lifecycle: 'terminal' })
    const resting = await waitFor(async () => {
      const now = await client.nodes.retrieve(node.id)
      return now.status === 'idle' && now.waiting && now
    }, patience)
    expect(resting.context).toBe(2)
    writeFileSync(join(cwd, 'go'), '')

    expect(await settled(node.id)).toMatchObject({ status: 'done', final_report: { body: 'over' } })
  })
})

describe('an agent that waits for a time', () => {
  it('is woken by the clock', async () => {
    script('wait a second', ({ said }) => (said === 0 ? call('wait', { timeout: 1 }) : report('it is later')))
    const cwd = directory('later')

    const node = await client.nodes.create({ prompt: 'wait a second', cwd, lifecycle: 'terminal' })

    expect(await settled(node.id)).toMatchObject({ status: 'done', final_report: { body: 'it is later' } })
    expect((await client.nodes.retrieve(node.id)).cycles).toBe(2)
  })
})

describe('an agent that asks a person', () => {
  it('blocks nothing: it rests until the answer comes as a message', async () => {
    const cwd = directory('asking')
    script('ask me', ({ said, user }) => {
      if (said === 0)
        return call('ask_human', {
          questions: [{ question: 'Which colour?', options: [{ label: 'red' }, { label: 'blue' }] }],
        })
      const answer = user.find((text) => text.includes('blue'))
      return answer ? report(`painted: ${answer}`) : call('wait', { reason: 'a colour' })
    })

    const node = await client.nodes.create({ prompt: 'ask me', cwd, lifecycle: 'terminal' })
    await waitFor(async () => (await client.nodes.retrieve(node.id)).status === 'idle', patience)
    const { data } = await client.request<{ data: HumanRequest[] }>('GET', `/v1/human/requests?node_id=${node.id}`)
    expect(data).toMatchObject([{ title: 'Which colour?', status: 'pending', node_id: node.id }])
    const id = data[0]?.id as string
    await client.human.requests.respond(id, { response: [{ id: 'q1', selectedOptionId: 'o2' }] })

    const outcome = await settled(node.id)
    expect(outcome).toMatchObject({ status: 'done' })
    expect(outcome.final_report?.body).toContain('blue')
  })
})

describe('an interrupt', () => {
  it('reaches the provider within a second', async () => {
    const provider = await startPatientProvider()
    try {
      await client.models.config.update({
        providers: { patient: { type: 'openai-compatible', base_url: provider.baseUrl } },
        ladders: { light: ['patient/m'] },
      })
      const node = await client.nodes.create({
        prompt: 'think for ever',
        cwd: daemon.workDir,
        model: { strength: 'light' },
      })
      await provider.begun()
      let left = false
      void provider.left().then(() => {
        left = true
      })
      await client.nodes.interrupt(node.id)
      await waitFor(() => left, { timeout: 1000, what: 'the end of the connection' })
      expect((await settled(node.id)).status).toBe('idle')
    } finally {
      await provider.stop()
    }
  })
})
