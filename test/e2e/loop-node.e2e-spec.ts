import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { type MockAnswer, MockModel } from '#common/testing/mock-model.js'
import { run, svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
let mock: MockModel
let project: string

beforeAll(async () => {
  ;[daemon, mock] = await Promise.all([TestDaemon.start(), MockModel.start()])
  project = join(daemon.workDir, 'project')
  mkdirSync(join(project, 'deep'), { recursive: true })
  for (const name of ['a.ts', 'b.ts', 'deep/c.ts', 'd.js']) writeFileSync(join(project, name), '')
})
afterAll(() => Promise.all([daemon.stop(), mock.stop()]))

describe('a loop node without a model', () => {
  it('says at once what is missing and how to add it', async () => {
    const end = await svc(daemon, ['node', 'new', 'count the files', '--wait'])

    expect(end).toMatchObject({ code: 5, stdout: '' })
    expect(end.stderr).toContain('model_not_configured')
    expect(end.stderr).toContain('svc model add ollama')
    expect((await daemon.client().nodes.list()).data).toEqual([])
  })
})

describe('a loop node with a model', () => {
  beforeAll(async () => {
    const added = await svc(daemon, [
      ...['model', 'add', 'openai-compatible', '--name', 'mock', '--model', 'm-1'],
      ...['--base-url', mock.baseUrl('openai-compatible')],
    ])
    if (added.code !== 0) throw new Error(added.stderr)
  })

  /** The model counts with the shell and reports what the shell said. */
  const counting = (prompt: string, end: MockAnswer): void => {
    const command = `find ${project} -name '*.ts' | wc -l; echo "$SVC_BROKER_MARK"`
    mock.conversation({ prompt }, [{ toolCalls: [{ name: 'bash', input: { command } }] }, end])
  }
  const report = (body: string): MockAnswer => ({
    toolCalls: [{ name: 'report', input: { kind: 'final', body } }],
  })

  it('counts files with the shell in its own process, reports, and the command prints the outcome', async () => {
    counting('count the TypeScript files', report('There are 3 TypeScript files.'))

    const end = await svc(daemon, ['node', 'new', `count the TypeScript files under ${project}`, '--wait'])

    expect(end).toMatchObject({ code: 0, stdout: 'There are 3 TypeScript files.\n' })
    const id = /node_\w+/.exec(end.stderr)?.[0] ?? ''
    const events = await daemon.client().nodes.events(id).recorded()
    const bound = events.data.find(({ type }) => type === 'node.bound')
    const ended = events.data.find(({ type, data }) => type === 'tool.ended' && data.name === 'bash')
    const [count, mark] = String(ended?.data.output).split('\n')
    expect(count?.trim()).toBe('3')
    // The shell is a program of the process that hosts the node, which is none of the daemon's.
    expect(mark).toMatch(/^local:\w+:\d+\/\d+$/)
    expect(bound?.data.pid).not.toBe(daemon.processes.find('daemon')?.pid)
  })

  it('is created and waited for in one call of the client', async () => {
    counting('with createAndWait', report('3, says the client'))

    const outcome = await daemon.client().nodes.createAndWait({
      prompt: 'count with createAndWait',
      cwd: project,
      lifecycle: 'terminal',
    })

    expect(outcome).toMatchObject({ status: 'done', settled: true, final_report: { body: '3, says the client' } })
  })

  it('gives a typed result that fits a zod schema', async () => {
    counting('with parse', { toolCalls: [{ name: 'submit_result', input: { value: { count: 3 } } }] })

    const result = await daemon
      .client()
      .nodes.parse(
        { prompt: 'count with parse', cwd: project, lifecycle: 'terminal' },
        z.object({ count: z.number().int() }),
      )

    expect(result).toEqual({ count: 3 })
  })

  it('is created, waited for and read by plain curl', async () => {
    counting('with curl', report('3, says curl'))
    const curl = async (path: string, ...args: string[]): Promise<Record<string, unknown>> => {
      const headers = ['-H', `authorization: Bearer ${daemon.token}`, '-H', 'content-type: application/json']
      const { stdout } = await run('curl', ['-sS', '--fail-with-body', ...headers, ...args, daemon.baseUrl + path])
      return JSON.parse(stdout)
    }

    const node = await curl(
      '/v1/nodes',
      '-d',
      JSON.stringify({ prompt: 'count with curl', cwd: project, lifecycle: 'terminal' }),
    )
    const outcome = await curl(`/v1/nodes/${node.id}/outcome?wait=60`)

    expect(outcome).toMatchObject({ settled: true, status: 'done', final_report: { body: '3, says curl' } })
  })

  it('goes on with a conversation when it is resident and gets another message', async () => {
    mock.conversation({ prompt: 'remember' }, [{ text: 'I remember.' }, { text: 'It was remember.' }])
    const client = daemon.client()
    const node = await client.nodes.create({ prompt: 'remember this', cwd: project })
    await client.nodes.waitForOutcome(node.id)

    await client.nodes.message(node.id, { body: 'what was I to remember?' })
    await client.nodes.waitForOutcome(node.id)

    const events = await client.nodes.events(node.id).recorded()
    const said = events.data.filter(({ type, data }) => type === 'message.completed' && data.role === 'assistant')
    expect(JSON.stringify(said.map(({ data }) => data.content))).toMatch(/I remember.*It was remember/)
  })
})
