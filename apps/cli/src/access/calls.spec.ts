import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { everyCommand, operationOf } from '../../../../test/support/command-calls.js'
import { SvcCommand } from '../../../../test/support/svc-command.js'
import { json } from '../../../../test/support/wire-server.js'
import { needsOf, pathOf } from './needs.js'

const node = 'node_01jd0000000000000000000000'
const request = 'req_01jd0000000000000000000000'
const cron = 'cron_01jd0000000000000000000000'
const page = { data: [], next_cursor: null, has_more: false }
/** What any command can begin with; where it ends with it is for its own tests. */
const anything = json({
  ...page,
  id: node,
  node: { id: node },
  reached: true,
  settled: true,
  ladders: {},
  providers: {},
})

/** Values for the arguments of commands, by their names. */
const samples: Readonly<Record<string, string>> = {
  id: node,
  job: node.replace('node', 'job'),
  json: '{}',
  method: 'GET',
}
/** Lines of commands that take more than their arguments. */
const lines: Readonly<Record<string, readonly string[]>> = {
  'svc app set': ['app', 'set', 'x', '--name', 'y'],
  'svc bash': ['bash', 'true'],
  'svc cron add': ['cron', 'add', '--every', '1h', '--message', 'x', '--to', node],
  'svc cron history': ['cron', 'history', cron],
  'svc cron next': ['cron', 'next', cron],
  'svc cron pause': ['cron', 'pause', cron],
  'svc cron resume': ['cron', 'resume', cron],
  'svc cron rm': ['cron', 'rm', cron],
  'svc cron run': ['cron', 'run', cron],
  'svc cron show': ['cron', 'show', cron],
  'svc file list': ['file', 'list', '/'],
  'svc file read': ['file', 'read', '/etc/hostname'],
  'svc file write': ['file', 'write', '/tmp/x', 'text'],
  'svc human answer': ['human', 'answer', request, '--say', 'x'],
  'svc human cancel': ['human', 'cancel', request],
  'svc human dismiss': ['human', 'dismiss', request],
  'svc human show': ['human', 'show', request],
  'svc canvas unwatch': ['canvas', 'unwatch', node, '--by', node],
  'svc canvas watch': ['canvas', 'watch'],
  'svc custom-object unwatch': ['custom-object', 'unwatch', 'x', '--by', node],
  'svc custom-object update': ['custom-object', 'update', 'x', '--description', 'y'],
  'svc custom-object watch': ['custom-object', 'watch', 'x', '--by', node],
  'svc model add': ['model', 'add', 'ollama', '--model', 'x'],
  'svc model config': ['model', 'config'],
  'svc node job-start': ['node', 'job-start', node, '--', 'true'],
  'svc node new': ['node', 'new', 'hello'],
  'svc node result': ['node', 'result', '{}', '--id', node],
  'svc node update': ['node', 'update', node, '--name', 'x'],
  'svc request': ['request', 'GET', '/v1/status'],
}
const inNode = ['svc push']

const lineFor = (path: string, args: readonly { readonly name: () => string }[]): readonly string[] =>
  lines[path] ?? [...path.split(' ').slice(1), ...args.map((each) => samples[each.name()] ?? 'x')]

const cut = (line: readonly string[]): readonly [readonly string[], readonly string[]] => {
  const at = line.indexOf('--')
  return at < 0 ? [line, []] : [line.slice(0, at), line.slice(at)]
}

const commands = (await everyCommand()).map((made) => [pathOf(made), made] as const)

/** What a command calls decides who is shown it, so what it names must be what it does; each test of the command checks that. */
describe('every command', () => {
  let svc: SvcCommand

  beforeAll(async () => {
    svc = await SvcCommand.start()
  })
  afterAll(() => svc.stop())

  it.each(commands)('%s says what it takes of its caller', (path, made) => {
    if (path === 'svc completion') return
    const { calls = [], gate } = needsOf(made) ?? {}
    expect(calls.length > 0 || gate !== undefined).toBe(true)
  })

  const calling = commands.filter(([, made]) => needsOf(made)?.calls?.length)
  it.each(calling)('%s calls the operations that it names, and no other', async (path, made) => {
    svc.wire.says(anything)
    const env = { ...(inNode.includes(path) && { SVC_NODE_ID: node }) }
    const [own, trailing] = cut(lineFor(path, made.registeredArguments))
    await svc.run([...own, '--json', ...trailing], { env })
    expect(svc.wire.received.map(operationOf)).toEqual(
      expect.arrayContaining([expect.stringMatching(new RegExp(`^(${needsOf(made)?.calls?.join('|')})$`))]),
    )
  })
})
