import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { MockModel, type ModelRequest } from '#common/testing/mock-model.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client, Node } from '#sdk/index.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
let mock: MockModel
let client: Client
let project: string

beforeAll(async () => {
  ;[daemon, mock] = await Promise.all([TestDaemon.start(), MockModel.start()])
  await daemon.useModel(mock)
  client = daemon.client()
  project = join(daemon.workDir, 'project')
  mkdirSync(project)
})
afterAll(() => Promise.all([daemon.stop(), mock.stop()]))

interface Message {
  readonly role: string
  readonly content: unknown
}

const messagesOf = ({ body }: ModelRequest): Message[] => body.messages as Message[]
const textOf = (messages: readonly Message[]): string =>
  JSON.stringify(messages.filter(({ role }) => role !== 'system'))

/** What the model was asked last in a conversation that holds this text. */
const askedLast = (text: string): ModelRequest => {
  const found = mock.requests().findLast((request) => textOf(messagesOf(request)).includes(text))
  if (!found) throw new Error(`nothing that holds "${text}" was asked`)
  return found
}

const rests = (id: string): Promise<Node> =>
  waitFor(
    async () => {
      const node = await client.nodes.retrieve(id)
      return node.status === 'idle' && node.intent !== 'refresh' ? node : null
    },
    { what: `${id} to rest` },
  )

/** A resident agent at rest, that has answered each of the messages. */
const spoken = async (prompt: string, ...messages: string[]): Promise<Node> => {
  const node = await client.nodes.create({ prompt, cwd: project })
  await rests(node.id)
  for (const body of messages) {
    await client.nodes.message(node.id, { body })
    await rests(node.id)
  }
  return client.nodes.retrieve(node.id)
}

describe('a node that yields', () => {
  it('comes back fresh, with the mandate and its note, and nothing of what was said', async () => {
    mock.conversation({ prompt: 'survey the valley' }, [{ text: 'I walked along the stream for hours.' }])
    mock.conversation({ prompt: 'This is context 2' }, [{ text: 'I go on at the mill.' }])
    const node = await spoken('survey the valley')

    const yielded = await svc(daemon, ['node', 'yield', node.id, 'go on at the mill'])
    await client.nodes.message(node.id, { body: 'and the weather?' })
    const now = await rests(node.id)

    expect(yielded.stdout).toContain('when it is woken')
    expect(now).toMatchObject({ context: 2, status: 'idle' })
    const asked = messagesOf(askedLast('go on at the mill'))
    expect(asked.filter(({ role }) => role === 'assistant')).toEqual([])
    for (const part of ['survey the valley', 'go on at the mill', 'and the weather?']) {
      expect(textOf(asked)).toContain(part)
    }
    expect(textOf(asked)).not.toContain('along the stream')
    expect((await svc(daemon, ['node', 'show', node.id])).stdout).toMatch(/context 2/)
  })

  it('in the middle of its own turn begins afresh when that has ended', async () => {
    const command = 'svc node yield "the second half is left"'
    mock.conversation({ prompt: 'dig the canal' }, [
      { toolCalls: [{ name: 'bash', input: { command } }] },
      { text: 'I come back.' },
    ])
    mock.conversation({ prompt: 'the second half is left' }, [{ text: 'The canal is dug.' }])
    const { id } = await client.nodes.create({ prompt: 'dig the canal', cwd: project })
    const node = await waitFor(async () => {
      const found = await client.nodes.retrieve(id)
      return found.context === 2 && found.status === 'idle' ? found : null
    })
    expect(node.generation).toBe(2)
    const asked = messagesOf(askedLast('the second half is left'))
    expect(asked.filter(({ role }) => role !== 'system')).toHaveLength(1)
    expect(textOf(asked)).toContain('dig the canal')
  })
})

describe('a fork', () => {
  it('at an earlier turn answers from there, is told who it is, and leaves its source alone', async () => {
    mock.conversation({ prompt: 'name a fruit' }, [{ text: 'apple' }])
    mock.conversation({ prompt: 'name another' }, [{ text: 'unused' }, { text: 'banana' }])
    mock.conversation({ prompt: 'which were named' }, [{ text: 'unused' }, { text: 'only the apple' }])
    const source = await spoken('name a fruit', 'name another')

    const { stdout, stderr } = await svc(daemon, ['node', 'fork', source.id, 'which were named?', '--turn', '1'])
    const copy = await rests(stdout.trim())

    expect(stderr).toContain('after its turn 1')
    const asked = textOf(messagesOf(askedLast('which were named')))
    expect(asked).toContain('apple')
    expect(asked).not.toContain('banana')
    expect(asked).toContain(`a copy of ${source.name} (node ${source.id})`)
    expect(copy).toMatchObject({ forked_from: { node_id: source.id, turn: 1 } })
    // its version may grow: what its last turn cost is put on its account when that is told
    const { status, generation, cycles, engagement, context } = source
    expect(await client.nodes.retrieve(source.id)).toMatchObject({ status, generation, cycles, engagement, context })
  })
})

describe('a root', () => {
  it('that is recycled is followed by one that knows what it was for', async () => {
    mock.conversation({ prompt: 'watch the gate' }, [{ text: 'I watch.' }])
    mock.conversation({ prompt: 'You take the place of' }, [{ text: 'I watch on.' }])
    const old = await spoken('watch the gate')

    const { stdout } = await svc(daemon, ['node', 'recycle', old.id])
    const next = await rests(stdout.trim())

    expect(await client.nodes.retrieve(old.id)).toMatchObject({ status: 'done' })
    expect(next).toMatchObject({ succeeds: old.id, succession: 'taken_over', context: 1 })
    expect(textOf(messagesOf(askedLast(`(node ${old.id})`)))).toContain('watch the gate')
  })

  it('that is relaunched goes on until the new one lives, also when the daemon is killed in the middle', async () => {
    mock.conversation({ prompt: 'keep the ledger' }, [{ text: 'kept' }])
    mock.conversation({ prompt: 'You take the place of' }, [{ text: 'I keep it.' }])
    const old = await spoken('keep the ledger')

    const { node } = await client.nodes.relaunchRoot(old.id, {})
    daemon.processes.kill('daemon')
    await daemon.startAgain()
    const next = await rests(node.id)

    expect(next).toMatchObject({ succession: 'taken_over', succeeds: old.id })
    expect(await client.nodes.retrieve(old.id)).toMatchObject({ status: 'done' })
    expect(textOf(messagesOf(askedLast(`(node ${old.id})`)))).toContain('keep the ledger')
  })
})

describe('a node that is revived', () => {
  it('goes on with its conversation after it was done, and after it was dead', async () => {
    mock.conversation({ prompt: 'weigh the gold' }, [
      { toolCalls: [{ name: 'report', input: { kind: 'final', body: 'three pounds' } }] },
    ])
    mock.conversation({ prompt: 'weigh it again' }, [
      { text: 'unused' },
      { error: { status: 400, message: 'the scales are broken' } },
    ])
    mock.conversation({ prompt: 'The model could not answer' }, [{ text: 'unused' }])
    const { id } = await client.nodes.create({ prompt: 'weigh the gold', cwd: project, lifecycle: 'terminal' })
    await client.nodes.waitForOutcome(id)

    expect(await client.nodes.revive(id, { prompt: 'weigh it again' })).toMatchObject({ revived: true })
    const dead = await client.nodes.waitForOutcome(id)
    expect(dead).toMatchObject({ status: 'dead', engagement: 2 })

    mock.conversation({ prompt: 'You were brought back' }, [
      { text: 'unused' },
      { toolCalls: [{ name: 'report', input: { kind: 'final', body: 'two pounds' } }] },
    ])
    expect((await svc(daemon, ['node', 'revive', id])).stdout).toContain('starts again')
    expect(await client.nodes.waitForOutcome(id)).toMatchObject({
      status: 'done',
      engagement: 3,
      final_report: { body: 'two pounds' },
    })
    const asked = textOf(messagesOf(askedLast('You were brought back')))
    for (const part of ['weigh the gold', 'weigh it again', 'the scales are broken']) expect(asked).toContain(part)
  })
})
