import { call, calls, heard, must, report, type Stage, type Story } from '../stage.js'

/** A resident that reads whatever comes. */
export const reader = (stage: Stage, name: string) =>
  stage.create(name, { prompt: `Read ${stage.agent(name, () => ({ text: 'Noted.' }))}` })

/** An agent whose children report to it, and to others who watch them by hand. */
export const family: Story = async (stage) => {
  const kids = ['anna', 'bert'] as const
  const prompts = kids.map((name) =>
    stage.agent(name, ({ said }) => {
      if (said === 0)
        return call('bash', { command: `sleep 0.${stage.tag.length % 9}; echo x >> '${stage.path(name)}'` })
      return said === 1 ? call('report', { kind: 'update', body: `${name} is halfway` }) : report(`${name} has it all`)
    }),
  )
  const lead = stage.agent('lead', (conversation) => {
    if (conversation.said === 0)
      return calls(
        ...kids.map((name, at): [string, Record<string, unknown>] => [
          'spawn',
          { name: `${stage.tag}-${name}`, prompt: `Do ${prompts[at]}` },
        ]),
      )
    return kids.every((name) => heard(conversation, `${name} has it all`))
      ? report('both have it all')
      : call('wait', { reason: 'the two' })
  })
  const [active, passive] = await Promise.all([reader(stage, 'active'), reader(stage, 'passive')])
  const node = await stage.create('lead', { prompt: `Lead ${lead}`, lifecycle: 'terminal' })
  await Promise.all([stage.watch(active.id, node.id), stage.watch(passive.id, node.id, 'passive')])
  const below = await stage.below(node.id, kids.length)
  await stage.watch(active.id, below.get('anna') as string)
  const outcome = await stage.client.nodes.waitForOutcome(node.id)
  await stage.message(passive.id, 'What is new?')
  return async () => {
    const tree = await stage.client.nodes.list({ under: node.id })
    return [
      ...must(outcome.status === 'done', `the lead ended ${outcome.status}`),
      ...must(tree.data.length === 1 + kids.length, `one lead and two spawned nodes are ${tree.data.length}`),
      ...must(
        tree.data.every(({ status }) => status === 'done'),
        `of the family are ${tree.data.map(({ status }) => status)}`,
      ),
    ]
  }
}

/** A canceled root takes with it what nobody else watches. */
export const cancel: Story = async (stage) => {
  const long = call('bash', { command: 'sleep 45' })
  const grandchild = stage.agent('grandchild', () => long)
  const taken = stage.agent('taken', ({ said }) =>
    said === 0 ? call('spawn', { name: `${stage.tag}-grandchild`, prompt: `Do ${grandchild}` }) : long,
  )
  const spared = stage.agent('spared', ({ said }) =>
    said === 0 ? call('bash', { command: `until [ -e '${stage.path('go')}' ]; do sleep 0.1; done` }) : report('spared'),
  )
  const root = stage.agent('root', ({ said }) =>
    said === 0
      ? calls(
          ['spawn', { name: `${stage.tag}-taken`, prompt: `Do ${taken}` }],
          ['spawn', { name: `${stage.tag}-spared`, prompt: `Do ${spared}` }],
        )
      : { text: 'They are at it.' },
  )
  const watcher = await reader(stage, 'watcher')
  const node = await stage.create('root', { prompt: `Begin ${root}` })
  const below = await stage.below(node.id, 3)
  const id = (name: string): string => below.get(name) as string
  await stage.watch(watcher.id, id('spared'))
  const answer = await stage.twice<{ canceled: string[]; spared: string[] }>('POST', `/v1/nodes/${node.id}/cancel`, {})
  stage.open('go')
  return async () => {
    const now = await stage.rows<{ name: string; status: string }>(
      'SELECT name, status FROM canvas.nodes WHERE root_id = $1',
      [node.id],
    )
    const wrong = now.filter(({ name, status }) => status !== (name.endsWith('-spared') ? 'done' : 'canceled'))
    const canceled = [node.id, id('taken'), id('grandchild')]
    return [
      ...must(answer.canceled.toSorted().join() === canceled.toSorted().join(), `canceled was ${answer.canceled}`),
      ...must(answer.spared.join() === id('spared'), `spared was ${answer.spared}`),
      ...must(wrong.length === 0, `after the cancel: ${JSON.stringify(wrong)}`),
    ]
  }
}
