import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { take, waitFor } from '#common/testing/wait-for.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon

beforeAll(async () => {
  daemon = await TestDaemon.start()
  for (const name of ['a.ts', 'b.ts', 'notes.md']) writeFileSync(join(daemon.workDir, name), `${name}\n`)
})
afterAll(() => daemon.stop())

const program = (script: string, more: object = {}) => ({
  prompt: 'go',
  cwd: daemon.workDir,
  engine: 'exec',
  lifecycle: 'terminal' as const,
  exec: { argv: ['sh', '-c', script] },
  ...more,
})

describe('svc node new --engine exec, without any credential', () => {
  it('runs a program over real files and prints what it printed', async () => {
    const end = await svc(daemon, ['node', 'new', '--engine', 'exec', '--wait', '--', 'ls'])

    expect(end.stderr).toMatch(/node_\w+ is done/)
    expect(end).toMatchObject({ code: 0, stdout: 'a.ts\nb.ts\nnotes.md\n' })
  })

  it('fails with what the program said when it fails', async () => {
    const end = await svc(daemon, ['node', 'new', '--wait', '--', 'sh', '-c', 'echo no such luck >&2; exit 3'])

    expect(end.code).toBe(1)
    expect(end.stderr).toContain('ended with exit code 3')
    expect(end.stderr).toContain('no such luck')
  })
})

describe('a node of the engine exec', () => {
  it('streams the output while its program runs', async () => {
    const { client, node } = await begin('echo begun; until [ -e go-on ]; do sleep 0.02; done; echo ended')
    const stream = client.nodes.stream(node.id)

    await take(stream, (item) => item.type === 'delta' && item.data.text === 'begun\n')
    expect((await client.nodes.retrieve(node.id)).status).toBe('active')
    writeFileSync(join(daemon.workDir, 'go-on'), '')

    expect((await client.nodes.waitForOutcome(node.id)).final_report?.body).toBe('begun\nended')
  })

  it('reports by itself with svc push, and its last report is the final one', async () => {
    const { client, node } = await begin('svc push "half way" >/dev/null && svc push --final "all done" >/dev/null')

    const outcome = await client.nodes.waitForOutcome(node.id)

    expect(outcome).toMatchObject({ status: 'done', final_report: { kind: 'final', body: 'all done' } })
    const reports = await client.nodes.reports.list(node.id)
    expect(reports.data.map(({ kind, body }) => [kind, body])).toEqual([
      ['update', 'half way'],
      ['final', 'all done'],
    ])
  })

  it('ends with its program and all that it started when it is canceled', async () => {
    const word = `sleeper-${process.pid}`
    const { client, node } = await begin(`setsid sh -c 'sleep 600; : ${word}' & wait`)
    await take(client.nodes.events(node.id), ({ type }) => type === 'tool.started')

    await waitFor(() => isRunning(word), { what: 'what the program starts' })

    await client.nodes.cancel(node.id)

    expect(await client.nodes.waitForOutcome(node.id)).toMatchObject({ status: 'canceled', settled: true })
    await waitFor(() => !isRunning(word), { what: 'the end of what the program left running' })
  })
})

const begin = async (script: string) => {
  const client = daemon.client()
  return { client, node: await client.nodes.create(program(script)) }
}

/** By a word of its command line: its number in the sandbox is another one here. */
const isRunning = (word: string): boolean =>
  readdirSync('/proc').some((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(word))

const commandOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    // Gone since it was listed.
    return ''
  }
}
