import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import { ended, liveOf, outputsOf, setStage, succeed, work } from '../../../../test/support/running-broker.js'

const stage = setStage()

describe('a program', () => {
  const exec = (script: string, stdin: 'jsonl' | 'text' = 'jsonl') =>
    stage.routes.node({
      engine: 'exec',
      cwd: stage.cwd,
      exec: { argv: ['bash', '-c', script], stdin, env: { COLOR: 'red' } },
    })

  it('reads its prompt and its mail as lines, streams what it prints, and ends in its report', async () => {
    const node = work(stage, exec('read a; echo "$a $COLOR"; read b; echo "$b"'), 'the work')
    await waitFor(() => node.listening && node.deltas.length > 0)
    const { id } = node.post('by the way')
    await ended(node)
    const [output] = outputsOf(node)
    expect(output).toMatch(/"type":"prompt".*"the work".* red\n.*"type":"mail".*"by the way"/s)
    expect(node.entries('turn_ended')[0]?.final).toBe(output?.trim())
    expect(node.mail).toEqual([])
    expect(JSON.stringify(node.entries('message'))).toContain(id)
    expect(node.deltas.map(({ text: said }) => said).join('')).toContain('the work')
  })

  it('is left to its own report when it pushed one', async () => {
    const node = exec('cat')
    node.given.exec!.stdin = 'text'
    node.reports.push({ kind: 'update', body: 'mine', engagement: 1 })
    work(stage, node)
    expect(await ended(node)).toEqual({ type: 'turn_ended', turn: 1, status: 'completed' })
  })

  it("never has the node's own token in its record, its report or its fault", async () => {
    const node = work(stage, exec('echo "$SVC_TOKEN"; echo "bad $SVC_TOKEN" >&2; exit 1'))
    expect((await ended(node)).fault?.message).toContain("bad [the node's token]")
    const other = work(stage, exec('echo "good $SVC_TOKEN"'))
    expect((await ended(other)).final).toBe("good [the node's token]")
    expect(JSON.stringify([node.journal, node.deltas])).not.toContain(node.token)
    expect(JSON.stringify([other.journal, other.deltas])).not.toContain(other.token)
  })

  it('that is too long a command line is a fault that says so', async () => {
    const node = work(
      stage,
      stage.routes.node({
        engine: 'exec',
        cwd: stage.cwd,
        exec: { argv: ['true', 'x'.repeat(200_000)], stdin: 'jsonl' },
      }),
    )
    expect(await ended(node)).toMatchObject({ status: 'failed', fault: { message: expect.stringMatching(/E2BIG/) } })
  })

  // The database refused the entry, and the node died of a process that was "lost".
  it('may print what no text can hold', async () => {
    const node = work(stage, exec(String.raw`printf 'a\0b\\u0000\377'`))
    expect(await ended(node)).toMatchObject({ status: 'completed', final: 'a\ufffdb\\u0000\ufffd' })
    expect(outputsOf(node)).toEqual(['a\ufffdb\\u0000\ufffd'])
  })

  // The report that a resident's first run left behind was taken for one that the second pushed itself: it had none.
  it('is left to the reports of its own run alone', async () => {
    const node = exec('echo again')
    node.given.lifecycle = 'resident'
    node.reports.push({ kind: 'update', body: 'of the run before', engagement: 1 })
    work(stage, node)
    expect(await ended(node)).toMatchObject({ status: 'completed', final: 'again' })
  })

  it('fails with what it said last', async () => {
    const node = work(stage, exec('echo oops >&2; exit 7'))
    expect(await ended(node)).toMatchObject({
      status: 'failed',
      fault: { kind: 'other', message: expect.stringMatching(/exit code 7.*oops/s) },
    })
    expect(node.entries('tool_ended')).toMatchObject([{ status: 'failed', exit_code: 7 }])
  })

  it.each([
    ['is not found', { argv: ['no-such-program'] }, {}, /"no-such-program" was not found/],
    ['may not be executed', { argv: ['/etc/passwd'] }, {}, /permission denied/],
    ['lies below a file', { argv: ['/etc/passwd/x'] }, {}, /"\/etc\/passwd\/x" could not be started: .*ENOTDIR/],
    ['has an endless name', { argv: ['x'.repeat(5000)] }, {}, /could not be started: .*ENAMETOOLONG/],
    ['has no name', { argv: [''] }, {}, /"" could not be started/],
    [
      'has no directory to run in',
      { argv: ['true'] },
      { cwd: '/no/such/dir' },
      /working directory \/no\/such\/dir can't be entered/,
    ],
  ])('that %s is a fault that says so', async (_, spec, given, message) => {
    const node = work(
      stage,
      stage.routes.node({ engine: 'exec', cwd: stage.cwd, exec: { stdin: 'jsonl', ...spec }, ...given }),
    )
    expect(await ended(node)).toMatchObject({ status: 'failed', fault: { message: expect.stringMatching(message) } })
  })

  it('whose process was lost is not run again by itself', async () => {
    const node = work(stage, exec('echo run >> runs; sleep 300'))
    await waitFor(() => readFileSync(join(stage.cwd, 'runs'), 'utf8'))
    await succeed(stage, node)
    expect(await ended(node)).toMatchObject({
      status: 'failed',
      fault: { message: expect.stringContaining('not run again by itself') },
    })
    expect(node.entries('tool_ended')).toMatchObject([{ status: 'outcome_unknown' }])
    expect(readFileSync(join(stage.cwd, 'runs'), 'utf8')).toBe('run\n')
  })

  it('is interrupted with all that it started; the node stays', async () => {
    const node = work(stage, exec('setsid sleep 300 & sleep 300'))
    await waitFor(() => node.listening && liveOf(stage.broker) > 2)
    node.signal({ type: 'interrupt', request: 1 })
    expect(await ended(node)).toEqual({ type: 'turn_ended', turn: 1, status: 'interrupted' })
    expect(node.entries('tool_ended')).toMatchObject([{ status: 'canceled' }])
    await waitFor(() => stage.broker.said.length === 1)
  })

  it('is told again from its beginning to a daemon that lost it', async () => {
    const node = exec('echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; sleep 0.3')
    node.resync = true
    work(stage, node)
    await waitFor(() => node.deltas.filter(({ offset, text: said }) => offset === 0 && said === 'one\n').length === 2)
    writeFileSync(join(stage.cwd, 'go'), '')
    await waitFor(() => node.deltas.some(({ offset, text: said }) => offset === 4 && said === 'two\n'))
  })
})
