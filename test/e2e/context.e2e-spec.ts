import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type MockAnswer, MockModel } from '#common/testing/mock-model.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
let mock: MockModel
let project: string

beforeAll(async () => {
  ;[daemon, mock] = await Promise.all([TestDaemon.start(), MockModel.start()])
  project = join(daemon.workDir, 'project')
  mkdirSync(join(project, '.git'), { recursive: true })
  writeFileSync(join(project, '.git', 'HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(join(project, 'AGENTS.md'), 'Names are in Latin.')
  const made = ['model', 'add', 'openai-compatible', '--name', 'mock', '--model', 'm-1']
  const added = await svc(daemon, [...made, '--base-url', mock.baseUrl('openai-compatible')])
  if (added.code !== 0) throw new Error(added.stderr)
  await svc(daemon, ['model', 'config', '{"context_windows": {"mock/m-1": 20000}}'])
})
afterAll(() => Promise.all([daemon.stop(), mock.stop()]))

const sent = (at: number): string => JSON.stringify(mock.requests().at(at)?.body)

describe('a persona that the owner adds as a file', () => {
  it('is a kind like the others, and what the model is told first', async () => {
    mkdirSync(join(daemon.data.path, 'personas'))
    const persona = '---\ndescription: Keeps the bees\ntools: read\n---\nYou keep bees.'
    writeFileSync(join(daemon.data.path, 'personas', 'keeper.md'), persona)
    expect((await svc(daemon, ['node', 'kinds'])).stdout).toMatch(/keeper .*persona .*Keeps the bees/)
    mock.always({ toolCalls: [{ name: 'report', input: { kind: 'final', body: 'All hum.' } }] })
    const end = await svc(daemon, ['node', 'new', 'look after them', '--kind', 'keeper', '--cwd', project, '--wait'])
    expect(end).toMatchObject({ code: 0, stdout: 'All hum.\n' })
    const { messages, tools } = mock.requests().at(-1)!.body as {
      messages: { role: string; content: unknown }[]
      tools: { function: { name: string } }[]
    }
    expect(messages[0]).toMatchObject({ role: 'system', content: expect.stringMatching(/^You keep bees\.\n/) })
    expect(JSON.stringify(messages[1])).toMatch(/on branch main.*Names are in Latin\..*look after them/)
    expect(tools.map((tool) => tool.function.name)).not.toContain('bash')
  })

  it('that is malformed, or is none, is said when a node is made', async () => {
    writeFileSync(join(daemon.data.path, 'personas', 'torn.md'), '---\nstrenght: light\n---\nYou tear.')
    const torn = await svc(daemon, ['node', 'new', 'x', '--kind', 'torn', '--cwd', project])
    expect(torn.stderr).toMatch(/torn\.md can't be used: line 2 names "strenght"/)
    const none = await svc(daemon, ['node', 'new', 'x', '--kind', 'nobody', '--cwd', project])
    expect(none.stderr).toMatch(/no kind "nobody"; there are: general, .*keeper/)
  })
})

describe('an agent whose context is full', () => {
  it('goes on with its task and a summary, which the journal holds', async () => {
    mock.reset()
    const look = (step: number): MockAnswer => ({
      toolCalls: [{ name: 'bash', input: { command: `: ${'y'.repeat(9000)}; echo look ${step}` } }],
      usage: { input: step * 6200, output: 100 },
    })
    const summary = { text: 'Looked three times.', pace: 40, chunkSize: 4 }
    mock.conversation({ prompt: 'Condense this conversation' }, [summary]).deciding(({ user, said }) => {
      if (user.some((one) => one.includes('Looked three times.')))
        return { toolCalls: [{ name: 'report', input: { kind: 'final', body: 'Seen.' } }] }
      return look(said + 1)
    })
    const { nodes } = daemon.client()
    const { id } = await nodes.create({ prompt: 'look long', cwd: project, lifecycle: 'terminal' })
    const seen: { type: string; data: Record<string, unknown> }[] = []
    for await (const item of nodes.stream(id)) {
      seen.push(item)
      if (item.type === 'node.done') break
    }
    expect((await nodes.outcome(id)).final_report?.body).toBe('Seen.')
    const live = seen.filter(({ type }) => type === 'delta').map(({ data }) => data.text)
    // Watchers once saw the summary as if the agent had said it.
    expect(live.join('')).not.toContain('Look')
    const compacted = (await nodes.events(id).recorded()).data.filter(({ type }) => type === 'context.compacted')
    expect(compacted.map(({ data }) => data)).toEqual([
      expect.objectContaining({ turn: 1, text: 'Looked three times.' }),
    ])
    expect(sent(-1)).toMatch(/look long.*Looked three times/)
    expect(mock.requests().filter(({ body }) => JSON.stringify(body).includes('% full'))).not.toHaveLength(0)
    expect(mock.requests()).toHaveLength(5)
  })
})
