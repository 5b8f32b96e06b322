import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { projectRoot } from '#apps/daemon/src/project-root.js'
import { take, waitFor } from '#common/testing/wait-for.js'
import type { Client, Node } from '#sdk/index.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
let client: Client
const followers: Follower[] = []
beforeAll(async () => {
  daemon = await TestDaemon.start()
  client = daemon.client({ maxRetries: 50 })
})
afterEach(() => {
  for (const { child } of followers.splice(0)) child.kill('SIGKILL')
})
afterAll(() => daemon.stop())

interface Follower {
  readonly child: ChildProcess
  text: string
}

/** The built command, for as long as the test wants it. */
const following = (...args: string[]): Follower => {
  const child = spawn(join(projectRoot, 'bin/svc'), args, {
    env: { ...daemon.env, SVC_BASE_URL: daemon.baseUrl },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const follower: Follower = { child, text: '' }
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    follower.text += piece
  })
  followers.push(follower)
  return follower
}

const listening = async (name: string, script = 'while read line; do echo "heard $line"; done'): Promise<Node> => {
  const node = await client.nodes.create({
    prompt: 'listen',
    name,
    cwd: daemon.workDir,
    engine: 'exec',
    exec: { argv: ['sh', '-c', script] },
  })
  await take(client.nodes.events(node.id), ({ type }) => type === 'tool.started')
  return node
}

describe('svc feed', () => {
  it('shows what nodes do over a killed database, each event once', async () => {
    const feed = following('feed', '--json', '--since', '1h')
    const node = await listening('first')
    await waitFor(() => feed.text.includes(node.id), { what: 'the first event' })
    expect(daemon.processes.kill('postgres')).toBe(true)
    const other = await listening('second')
    await client.nodes.cancel(other.id)
    await waitFor(() => feed.text.includes('"node.canceled"'), { what: 'the end of the second', timeout: 60_000 })
    const lines = feed.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; seq: number; subject: string })
    expect(new Set(lines.map(({ id }) => id)).size).toBe(lines.length)
    const rows = await daemon.rows<{ id: string }>('SELECT id FROM canvas.events')
    await waitFor(() => feed.text.split('\n').length > rows.length, { what: 'all that was written' })
    await client.nodes.cancel(node.id)
  })
})

describe('svc node attach', () => {
  it('shows a node at its process, and says that there is none', async () => {
    const node = await listening('attached')
    const attached = following('node', 'attach', node.id)
    await waitFor(() => attached.text.includes('attached (active, exec)'), { what: 'the welcome' })
    await client.nodes.message(node.id, { body: 'capybara' })
    await waitFor(() => /heard .*capybara/.test(attached.text), { what: 'what the program said' })
    await client.nodes.cancel(node.id)
    await waitFor(() => attached.child.exitCode !== null, { what: 'the viewer to leave' })
    const refused = await svc(daemon, ['node', 'attach', node.id])
    expect([refused.code, refused.stderr.includes('no_live_broker')]).toEqual([4, true])
  })

  it('has a socket that no program of a node sees, and that goes with the process', async () => {
    const node = await listening('hidden')
    const { path } = await client.request<{ path: string }>('POST', `/v1/nodes/${node.id}/attach`)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const spy = await client.nodes.createAndWait({
      prompt: 'look',
      lifecycle: 'terminal',
      cwd: daemon.workDir,
      engine: 'exec',
      exec: { argv: ['sh', '-c', `ls -la '${path}' 2>&1; ls '${join(path, '..')}' 2>&1; exit 0`] },
    })
    expect(spy.final_report?.body).not.toMatch(/^s/m)
    expect(spy.final_report?.body).toMatch(/No such file|Permission denied/)
    const name = path.slice(path.lastIndexOf('/') + 1)
    await client.nodes.cancel(node.id)
    await waitFor(() => !readdirSync(join(path, '..')).includes(name), { what: 'the socket to be gone' })
  })
})

describe('svc canvas tree --watch', () => {
  it('says what has changed, as it changes', async () => {
    const node = await listening('watched')
    const tree = following('canvas', 'tree', node.id, '--watch')
    await waitFor(() => tree.text.includes('watched'), { what: 'the tree' })
    const child = await client.nodes.create({
      prompt: 'x',
      name: 'sprout',
      parent_id: node.id,
      engine: 'exec',
      exec: { argv: ['true'] },
    })
    await waitFor(() => /✓ sprout/.test(tree.text), { what: 'the child to be done' })
    expect(tree.text).toContain(child.id)
    await client.nodes.cancel(node.id)
    await waitFor(() => /⊘ watched/.test(tree.text), { what: 'the end of the node' })
  })
})
