import { waitFor } from '#common/testing/wait-for.js'
import type { HumanRequest, Node, Roadmap, SvcError } from '#sdk/index.js'
import { call, failureOf, heard, must, report, type Stage, type Story, storyPatience } from '../stage.js'

/** A node that waits for a time, while others wait for it. */
export const waiting: Story = async (stage) => {
  const seconds = stage.random.between(1, 3)
  const prompt = stage.agent('sleeper', (conversation) =>
    conversation.said === 0 || (!heard(conversation, 'is over') && !heard(conversation, 'good morning'))
      ? call('wait', { timeout: seconds, reason: 'the clock' })
      : report('it is later'),
  )
  const { id } = await stage.create('sleeper', { prompt: `Sleep ${prompt}`, lifecycle: 'terminal' })
  if (stage.random.between(1, 2) === 1) await stage.message(id, 'good morning', { tier: 'urgent' })
  const [held, outcome] = await Promise.all([
    stage.reaches(id, ['done', 'dead']),
    stage.client.nodes.waitForOutcome(id, { timeout: storyPatience.timeout }),
  ])
  return async () => [
    ...must(held.status === 'done', `the poll saw it ${held.status}`),
    ...must(outcome.final_report?.body === 'it is later', `its outcome is ${JSON.stringify(outcome)}`),
  ]
}

/** Three who write one roadmap, each after the version that it has read. */
export const orchestrator: Story = async (stage) => {
  const prompt = stage.agent('planner', () => ({ text: 'I plan.' }))
  const { id } = await stage.create('planner', { prompt: `Plan ${prompt}` })
  const promoted = await stage.twice<Node>('POST', `/v1/nodes/${id}/promote`, { roadmap: '# Plan' })
  const lines = ['a', 'b', 'c'].flatMap((writer) => [1, 2].map((n) => `- ${writer}${n}`))
  await Promise.all(
    ['a', 'b', 'c'].map(async (writer) => {
      for (const line of lines.filter((one) => one.startsWith(`- ${writer}`))) await writeLine(stage, id, line)
    }),
  )
  await describe(stage, id, 'plans the whole')
  await stage.message(id, 'how is the plan?')
  return async () => {
    const { text, version } = await stage.client.request<Roadmap>('GET', `/v1/nodes/${id}/roadmap`)
    const node = await stage.client.nodes.retrieve(id)
    return [
      ...must(promoted.mode === 'orchestrator' && node.status === 'idle', `it is ${node.mode}, ${node.status}`),
      ...must(
        text.split('\n').slice(1).toSorted().join() === lines.join() && version === 1 + lines.length,
        `version ${version} of the roadmap is ${JSON.stringify(text)}`,
      ),
      ...must(node.description === 'plans the whole', `its description is ${node.description}`),
    ]
  }
}

/** Again with what stands there by now, whenever somebody else was first. */
const writeLine = async (stage: Stage, id: string, line: string): Promise<void> => {
  const path = `/v1/nodes/${id}/roadmap`
  await waitFor(async () => {
    const { text, version } = await stage.client.request<Roadmap>('GET', path)
    if (text.includes(line)) return true
    const refused = await failureOf(stage.client.request('PUT', path, { text: `${text}\n${line}`, if_match: version }))
    if (refused && refused.code !== 'precondition_failed') throw refused
    return false
  }, storyPatience)
}

const describe = (stage: Stage, id: string, description: string): Promise<boolean> =>
  waitFor(async () => {
    const { version } = await stage.client.nodes.retrieve(id)
    const refused = await failureOf(stage.client.nodes.update(id, { description, if_match: version }))
    if (refused && refused.code !== 'precondition_failed') throw refused
    return !refused
  }, storyPatience)

/** A question that two people answer at once. */
export const question: Story = async (stage) => {
  const prompt = stage.agent('asker', (conversation) => {
    if (conversation.said === 0)
      return call('ask_human', {
        questions: [{ question: 'Which?', options: [{ label: 'red' }, { label: 'blue' }], freetext: false }],
      })
    return heard(conversation, 'Answer to your question') ? report('decided') : call('wait', { reason: 'a colour' })
  })
  const { id } = await stage.create('asker', { prompt: `Ask ${prompt}`, lifecycle: 'terminal' })
  const path = `/v1/human/requests?node_id=${id}`
  const list = () => stage.client.request<{ data: HumanRequest[] }>('GET', path)
  const asked = await waitFor(async () => (await list()).data[0], storyPatience)
  const tried = await Promise.all(['o1', 'o2'].map((option) => answer(stage, asked.id, option)))
  const outcome = await stage.client.nodes.waitForOutcome(id)
  return async () => {
    const { data } = await list()
    const chosen = data[0]?.response?.[0]?.selectedOptionId
    const winners = tried.filter(({ refused }) => !refused)
    return [
      ...must(data.length === 1, `one question is ${data.length}`),
      ...must(winners.length === 1 && winners[0]?.option === chosen, `of ${JSON.stringify(tried)} stands ${chosen}`),
      ...must(
        tried.every(({ refused }) => !refused || refused === 'already_resolved'),
        `the other was told ${JSON.stringify(tried)}`,
      ),
      ...must(outcome.status === 'done', `the asker ended ${outcome.status}`),
    ]
  }
}

const answer = async (stage: Stage, id: string, option: string): Promise<{ option: string; refused?: string }> => {
  const response = [{ id: 'q1', selectedOptionId: option }]
  const error: SvcError | undefined = await failureOf(
    stage.twice('POST', `/v1/human/requests/${id}/respond`, { response }),
  )
  return { option, ...(error && { refused: error.code ?? String(error) }) }
}
