import { once } from 'node:events'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import { type PlayedNode, text, toolCall } from '../../../../test/support/broker-routes.js'
import { ended, setStage, work } from '../../../../test/support/running-broker.js'

const stage = setStage()
const viewers: Viewer[] = []
afterEach(() => {
  for (const viewer of viewers.splice(0)) viewer.socket.destroy()
})

type Line = Record<string, unknown> & { type: string }

class Viewer {
  readonly lines: Line[] = []
  closed = false
  #rest = ''

  constructor(readonly socket: Socket) {
    socket.setEncoding('utf8').on('data', (piece: string) => {
      const lines = (this.#rest + piece).split('\n')
      this.#rest = lines.pop() ?? ''
      this.lines.push(...lines.map((line) => JSON.parse(line) as Line))
    })
    socket.on('error', () => undefined)
    socket.once('close', () => {
      this.closed = true
    })
  }

  say(...lines: unknown[]): void {
    for (const line of lines) this.socket.write(typeof line === 'string' ? line : `${JSON.stringify(line)}\n`)
  }

  of(type: string): Line[] {
    return this.lines.filter((line) => line.type === type)
  }

  async heard(type: string, count = 1): Promise<Line> {
    await waitFor(() => this.of(type).length >= count, { what: `${count} ${type}` })
    return this.of(type)[count - 1]!
  }
}

const pathOf = (): string => join(stage.cwd, 'v.sock')

const open = async (node: PlayedNode, generation = node.generation): Promise<{ fault?: string }> => {
  const path = pathOf()
  const already = stage.broker.said.length
  stage.broker.child.send({ type: 'attach', node_id: node.id, generation, path })
  return waitFor(
    () => (stage.broker.said.slice(already) as Line[]).find(({ type }) => type === 'attached') as { fault?: string },
    { what: 'the socket' },
  )
}

const attach = async (): Promise<Viewer> => {
  const socket = connect(pathOf())
  await once(socket, 'connect')
  const viewer = new Viewer(socket)
  viewers.push(viewer)
  return viewer
}

/** A node that works at something until the test lets it go on. */
const working = (more: Parameters<typeof stage.routes.node>[0] = {}) => {
  const gate = Promise.withResolvers<void>()
  const node = work(
    stage,
    stage.routes.node({ cwd: stage.cwd, ...more }, async ({ step }) => {
      if (step === 1) return [text('first words'), toolCall('1', 'bash', { command: 'echo hi' })]
      await gate.promise
      return step === 2 ? [toolCall('2', 'bash', { command: 'echo ho' })] : [text('done')]
    }),
  )
  return { node, goOn: gate.resolve }
}

describe('the socket of a node', () => {
  it('welcomes with the whole turn so far, then says what comes', async () => {
    const { node, goOn } = working()
    await waitFor(() => node.entries('tool_ended').length === 1)
    expect(await open(node)).not.toHaveProperty('fault')
    expect(statSync(pathOf()).mode & 0o777).toBe(0o600)
    const viewer = await attach()
    const welcome = await viewer.heard('welcome')
    expect(welcome).toMatchObject({ protocol: 'svc-viewer/1', role: 'observer', controlled: false, omitted: 0 })
    expect(welcome.node).toMatchObject({ id: node.id, generation: 1 })
    const shown = welcome.entries as { ord: number; entry: { type: string } }[]
    expect(shown.map(({ entry }) => entry.type)).toEqual(node.journal.map(({ type }) => type))
    expect(shown.map(({ ord }) => ord)).toEqual(node.journal.map((_, at) => at + 1))
    goOn()
    await ended(node)
    await viewer.heard('bye')
    const all = [...shown, ...(viewer.of('entry') as unknown as typeof shown)]
    expect(all.map(({ entry }) => entry.type)).toEqual(node.journal.map(({ type }) => type))
    expect(all.map(({ ord }) => ord)).toEqual(node.journal.map((_, at) => at + 1))
    expect(viewer.of('delta').map(({ text: said }) => said)).toContain('done')
    await waitFor(() => viewer.closed && !existsSync(pathOf()), { what: 'the socket to be gone with the node' })
  })

  it('is not opened for a node that this process does not host', async () => {
    const { node, goOn } = working()
    await waitFor(() => node.entries('tool_ended').length === 1)
    expect(await open(node, 7)).toMatchObject({ fault: 'it does not host the node' })
    goOn()
  })

  it('answers what it can’t read and goes on', async () => {
    const { node, goOn } = working()
    await waitFor(() => node.entries('tool_ended').length === 1)
    await open(node)
    const viewer = await attach()
    viewer.say('no json\n', '[1]\n', { type: 'dance' }, { type: 'message', body: 7 }, { type: 'interrupt', ref: 'x' })
    viewer.say('y'.repeat(3 * 1024 * 1024), '\n', { type: 'beat' }, 'null\n')
    await viewer.heard('error', 7)
    expect(viewer.of('error').map(({ code }) => code)).toEqual([
      'malformed_line',
      'malformed_line',
      'unknown_type',
      'malformed_line',
      'not_controller',
      'line_too_long',
      'malformed_line',
    ])
    expect(viewer.closed).toBe(false)
    goOn()
    await ended(node)
  })
})

describe('control', () => {
  const taken = async (viewer: Viewer): Promise<void> => {
    viewer.say({ type: 'control', ticket: 'good' })
    await viewer.heard('accepted')
  }

  it('is of one at a time, and speaks in the name of the owner', async () => {
    const { node, goOn } = working()
    await waitFor(() => node.entries('tool_ended').length === 1 && node.listening)
    await open(node)
    const [one, two] = [await attach(), await attach()]
    await taken(one)
    expect(await two.heard('controlled')).toMatchObject({ controlled: true, by_you: false })
    two.say({ type: 'control', ticket: 'good', ref: 1 })
    expect(await two.heard('error')).toMatchObject({ code: 'control_held' })
    one.say({ type: 'message', body: 'look here', tier: 'urgent', ref: 'm' })
    expect(await one.heard('accepted', 2)).toMatchObject({ to: 'message', ref: 'm' })
    goOn()
    await ended(node)
    await waitFor(() => JSON.stringify(node.journal).includes('look here'), { what: 'the message to be taken' })
  })

  it('is not given for a ticket that the daemon does not know', async () => {
    const { node, goOn } = working()
    await waitFor(() => node.entries('tool_ended').length === 1)
    await open(node)
    const viewer = await attach()
    viewer.say({ type: 'control', ticket: 'forged', ref: 1 }, { type: 'message', body: 'as the owner' })
    expect(await viewer.heard('error', 2)).toBeDefined()
    expect(
      viewer
        .of('error')
        .map(({ code }) => code)
        .toSorted(),
    ).toEqual(['not_controller', 'owner_required'])
    expect(viewer.of('controlled')).toEqual([])
    goOn()
    await ended(node)
  })

  // It once stayed with a viewer whose terminal was closed, until the node was started again.
  it('is free as soon as who had it is gone', async () => {
    const { node, goOn } = working()
    await waitFor(() => node.entries('tool_ended').length === 1)
    await open(node)
    const [one, two] = [await attach(), await attach()]
    await taken(one)
    await two.heard('controlled')
    one.socket.destroy()
    // long before its lease would have run out
    await waitFor(() => two.of('controlled').length === 2, { what: 'control to be free', timeout: 8000 })
    expect(two.of('controlled')[1]).toMatchObject({ controlled: false })
    await taken(two)
    expect(await two.heard('controlled', 3)).toMatchObject({ by_you: true })
    two.say({ type: 'release' })
    expect(await two.heard('controlled', 4)).toMatchObject({ controlled: false })
    goOn()
    await ended(node)
  })

  it('interrupts the turn', async () => {
    const node = work(
      stage,
      stage.routes.node({ cwd: stage.cwd, lifecycle: 'resident' }, () => [
        toolCall('1', 'bash', { command: 'sleep 60' }),
      ]),
    )
    await waitFor(() => node.entries('tool_started').length === 1 && node.listening)
    await open(node)
    const viewer = await attach()
    await taken(viewer)
    viewer.say({ type: 'interrupt' })
    expect(await viewer.heard('accepted', 2)).toMatchObject({ interrupted: true })
    await waitFor(() => node.entries('turn_ended').length === 1)
    expect(node.entries('turn_ended')[0]).toMatchObject({ status: 'interrupted' })
  })
})

describe('a viewer that does not read', () => {
  it('is dropped, and holds up neither the node nor who reads', async () => {
    // in pieces, so that who reads at all can keep up
    const piece = "head -c 100000 /dev/zero | tr '\\0' z | fold -w 1000; sleep 0.05"
    const script = `while [ ! -e go ]; do sleep 0.05; done; for i in $(seq 50); do ${piece}; done`
    const exec = { argv: ['sh', '-c', script], stdin: 'text' as const }
    const node = work(stage, stage.routes.node({ cwd: stage.cwd, engine: 'exec', exec }))
    await waitFor(() => node.entries('tool_started').length === 1)
    await open(node)
    const [slow, quick] = [await attach(), await attach()]
    await slow.heard('welcome')
    slow.socket.pause()
    writeFileSync(join(stage.cwd, 'go'), '')
    await ended(node)
    await quick.heard('bye')
    expect(quick.of('entry').filter(({ entry }) => (entry as { type: string }).type === 'turn_ended')).toHaveLength(1)
    const shown = quick.of('delta').reduce((length, { text: said }) => length + String(said).length, 0)
    expect(shown).toBeGreaterThan(5_000_000)
    slow.socket.resume()
    await waitFor(() => slow.closed, { what: 'the slow viewer to be gone' })
    expect(slow.of('bye')).toEqual([])
  })
})
