import type { Node } from '#sdk/index.js'
import { call, must, type Story } from '../stage.js'
import { reader } from './family.story.js'

const tiers = ['critical', 'urgent', 'normal', 'deferred'] as const

/** A resident that is given fresh contexts, by itself and by others, with messages of all tiers between. */
export const contexts: Story = async (stage) => {
  const prompt = stage.agent('listener', ({ user }) =>
    user.at(-1)?.includes('yield yourself') ? call('yield', { note: 'it was asked for' }) : { text: 'I listen.' },
  )
  const { id } = await stage.create('listener', { prompt: `Listen ${prompt}` })
  await stage.message(id, 'one', { tier: stage.random.pick(tiers) })
  await stage.twice<Node>('POST', `/v1/nodes/${id}/yield`, { note: 'go on listening' })
  await stage.message(id, 'two', { tier: stage.random.pick(tiers) })
  await stage.message(id, 'yield yourself')
  await Promise.all([
    stage.twice('POST', `/v1/nodes/${id}/revive`, { mode: 'fresh' }),
    stage.twice('POST', `/v1/nodes/${id}/revive`, { mode: 'resume' }),
    stage.twice('POST', `/v1/nodes/${id}/interrupt`, {}),
  ])
  await stage.message(id, 'three', { tier: stage.random.pick(tiers) })
  await stage.message(id, 'four')
  return async () => {
    const node = await stage.client.nodes.retrieve(id)
    return [
      ...must(node.status === 'idle', `the listener is ${node.status}: ${JSON.stringify(node.fault)}`),
      ...must(node.context > 1, 'no context was begun'),
    ]
  }
}

/** Copies of a conversation, one with work and one without. */
export const fork: Story = async (stage) => {
  const { id } = await stage.create('source', {
    prompt: `Talk ${stage.agent('source', ({ said }) => ({ text: `source ${said}` }))}`,
  })
  await stage.reaches(id, ['idle'])
  await stage.message(id, 'and on')
  const copying = stage.agent('copy', ({ said }) =>
    said < 3 ? call('bash', { command: `echo x >> '${stage.path('copy')}'` }) : { text: 'copied' },
  )
  const [busy, resting] = await Promise.all([
    stage.twice<Node>('POST', `/v1/nodes/${id}/fork`, { turn: 1, prompt: `Go ${copying}`, name: `${stage.tag}-copy` }),
    stage.twice<Node>('POST', `/v1/nodes/${id}/fork`, { name: `${stage.tag}-rest` }),
  ])
  await stage.message(resting.id, `begin ${stage.agent('rest', () => ({ text: 'here' }))}`)
  return async () => {
    const all = await Promise.all([id, busy.id, resting.id].map((one) => stage.client.nodes.retrieve(one)))
    return [
      ...must(
        all.every(({ status }) => status === 'idle'),
        `source and copies are ${all.map(({ status }) => status)}`,
      ),
      ...must(
        all.slice(1).every(({ forked_from }) => forked_from?.node_id === id),
        'a copy does not say whose',
      ),
    ]
  }
}

/** Messages with files, and a program whose reports go to active and passive watchers. */
export const attachments: Story = async (stage) => {
  const [active, passive] = await Promise.all([reader(stage, 'one'), reader(stage, 'two')])
  const text = `file of ${stage.tag}`
  await stage.message(active.id, 'with files', {
    attachments: [
      { name: 'a.txt', text },
      { name: 'b.bin', base64: Buffer.from(text).toString('base64') },
    ],
  })
  const program = `until [ -e '${stage.path('go')}' ]; do sleep 0.1; done; svc push 'on the way'; svc push --urgent 'now'; echo over`
  const child = await stage.create('program', {
    prompt: 'run',
    parent_id: active.id,
    engine: 'exec',
    exec: { argv: ['sh', '-c', program] },
  })
  await stage.watch(passive.id, child.id, 'passive')
  stage.open('go')
  await stage.client.nodes.waitForOutcome(child.id)
  await stage.message(passive.id, 'and?')
  return async () => {
    const rows = await stage.rows<{ content: string }>(
      `SELECT convert_from(b.content, 'UTF8') AS content FROM canvas.attachments a JOIN canvas.blobs b ON b.hash = a.hash
        WHERE a.node_id = $1`,
      [active.id],
    )
    return must(rows.length === 2 && rows.every(({ content }) => content === text), `its files are ${rows.length}`)
  }
}
