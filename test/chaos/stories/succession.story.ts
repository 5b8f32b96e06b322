import { waitFor } from '#common/testing/wait-for.js'
import type { NodesRecycleResponse, NodesRelaunchRootResponse } from '#sdk/index.js'
import { call, calls, heard, must, report, type Stage, type Story, storyPatience } from '../stage.js'
import { reader } from './family.story.js'

/** A root with a child that only it watches and one that somebody else watches too, and a message that it has not read. */
const rootWithChildren = async (stage: Stage) => {
  const own = stage.agent('own', ({ said }) =>
    said === 0 ? call('bash', { command: `until [ -e '${stage.path('go')}' ]; do sleep 0.1; done` }) : report('own'),
  )
  const shared = stage.agent('shared', ({ said }) =>
    said === 0 ? call('bash', { command: `until [ -e '${stage.path('go')}' ]; do sleep 0.1; done` }) : report('shared'),
  )
  const prompt = stage.agent('root', (conversation) => {
    const first = conversation.said === 0 && !heard(conversation, 'You take the place of')
    if (!first) return { text: 'I stand here.' }
    return calls(
      ['spawn', { name: `${stage.tag}-own`, prompt: `Do ${own}` }],
      ['spawn', { name: `${stage.tag}-shared`, prompt: `Do ${shared}` }],
    )
  })
  const watcher = await reader(stage, 'watcher')
  const root = await stage.create('root', { prompt: `Stand ${prompt}` })
  const below = await stage.below(root.id, 2)
  await Promise.all([stage.watch(watcher.id, root.id), stage.watch(watcher.id, below.get('shared') as string)])
  await stage.message(root.id, 'for whoever comes', { tier: 'deferred' })
  return { root, below }
}

const rowsOf = (stage: Stage) =>
  stage.rows<{ id: string; name: string; status: string; parent_id: string | null; succession: string | null }>(
    'SELECT id, name, status, parent_id, succession FROM canvas.nodes WHERE name LIKE $1',
    [`${stage.tag}-%`],
  )

/** The message that waited for whoever comes is read there. */
const waitedFor = async (stage: Stage, id: string): Promise<string[]> => {
  const mail = await stage.rows<{ node_id: string; read: boolean }>(
    'SELECT node_id, acknowledged_at IS NOT NULL AS read FROM canvas.mail WHERE body LIKE $1',
    [`for whoever comes (${stage.tag}.%`],
  )
  return must(mail.length === 1 && mail[0]?.node_id === id && mail[0].read, `what waited is ${JSON.stringify(mail)}`)
}

/** A root that gives its place to another at once. */
export const recycle: Story = async (stage) => {
  const { root, below } = await rootWithChildren(stage)
  const { node } = await stage.twice<NodesRecycleResponse>('POST', `/v1/nodes/${root.id}/recycle`, {})
  await stage.message(node.id, 'hello to the new one')
  stage.open('go')
  return async () => {
    const rows = await rowsOf(stage)
    const of = (id: string | undefined) => rows.find((row) => row.id === id)
    return [
      ...must(of(root.id)?.status === 'done', `the old root is ${of(root.id)?.status}`),
      ...must(of(node.id)?.status === 'idle', `the new root is ${of(node.id)?.status}`),
      ...(await waitedFor(stage, node.id)),
      ...['own', 'shared'].flatMap((name) => {
        const child = of(below.get(name))
        return must(child?.status === 'done' && child.parent_id === node.id, `${name} is ${JSON.stringify(child)}`)
      }),
    ]
  }
}

/** A root whose successor boots first, and is killed in the middle of it. */
export const relaunch: Story = async (stage) => {
  const { root, below } = await rootWithChildren(stage)
  const { node } = await stage.twice<NodesRelaunchRootResponse>('POST', `/v1/nodes/${root.id}/relaunch-root`, {})
  // a round whose fault took the database away tells the story without this death
  await stage.killBroker(node.id).catch(() => undefined)
  const { succession } = await waitFor(async () => {
    const now = await stage.client.nodes.retrieve(node.id)
    return now.succession !== 'booting' && now
  }, storyPatience)
  await stage.message(succession === 'taken_over' ? node.id : root.id, 'hello to whoever stands')
  stage.open('go')
  return async () => {
    const rows = await rowsOf(stage)
    const of = (id: string | undefined) => rows.find((row) => row.id === id)
    const taken = of(node.id)?.succession === 'taken_over'
    const wanted = taken
      ? { old: 'done', own: 'canceled', shared: 'done', parent: node.id }
      : { old: 'idle', own: 'done', shared: 'done', parent: root.id }
    return [
      ...must(/taken_over|failed/.test(of(node.id)?.succession ?? ''), `the succession is ${of(node.id)?.succession}`),
      ...(await waitedFor(stage, wanted.parent)),
      ...must(of(root.id)?.status === wanted.old, `the old root is ${of(root.id)?.status}`),
      ...must(of(below.get('own'))?.status === wanted.own, `own is ${of(below.get('own'))?.status}`),
      ...must(of(below.get('shared'))?.status === wanted.shared, `shared is ${of(below.get('shared'))?.status}`),
      ...must(of(below.get('shared'))?.parent_id === wanted.parent, `shared works for another root`),
    ]
  }
}
