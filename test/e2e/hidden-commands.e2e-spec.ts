import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
beforeAll(async () => {
  daemon = await TestDaemon.start()
})
afterAll(() => daemon.stop())

const commandsOf = (help: string): string[] =>
  [...help.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name]) => name as string)

describe('the commands that svc shows', () => {
  it('to the holder of a token follow what it may do now, and shrink with the grant of its app', async () => {
    const client = daemon.client()
    await client.apps.create({ name: 'notes', scopes: ['svc:act', 'svc:llm'] })
    const { token } = await client.tokens.create({ app: 'notes' })
    const env = { SVC_TOKEN: token as string }
    expect(commandsOf((await svc(daemon, ['--help'], { env })).stdout)).toEqual(
      expect.arrayContaining(['human', 'bash', 'file', 'node']),
    )
    await client.apps.grant.set('notes', { scopes: ['svc:llm'] })
    const left = commandsOf((await svc(daemon, ['--help'], { env })).stdout)
    expect(left).toContain('node')
    for (const name of ['human', 'bash', 'file', 'app']) expect(left).not.toContain(name)
    const typed = await svc(daemon, ['human', '--help'], { env })
    expect([typed.code, typed.stderr]).toEqual([6, expect.stringContaining('svc:act')])
    const refused = await svc(daemon, ['human', 'ask', 'May I?'], { env })
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('(scope_missing)')])
  })

  it('inside a node follow its scopes, and the token of the owner is not to be had there', async () => {
    const inside =
      'svc --help; svc human list; echo "code $?"; svc sys connect; echo "code $?"; svc app list; echo "code $?"'
    const node = await daemon.client().nodes.createAndWait({
      prompt: 'go',
      cwd: daemon.workDir,
      engine: 'exec',
      scopes: ['svc:llm'],
      exec: { argv: ['sh', '-c', `(${inside}) 2>&1`] },
    })
    const said = node.final_report?.body ?? ''
    const shown = commandsOf(said)
    expect(shown).toEqual(expect.arrayContaining(['node', 'push']))
    for (const name of ['human', 'bash', 'file', 'app']) expect(shown).not.toContain(name)
    expect(said.match(/code 6/g)).toHaveLength(3)
    expect(said).toContain('`svc human` needs the scope svc:act (scope_missing)')
    expect(said).not.toContain('svc_own_')
  })
})
