import type { NodesReviveResponse, ReviveAllAnswer } from '#sdk/index.js'
import { must, report, type Story } from '../stage.js'

/** A node that ended is brought back by two at once. */
export const revive: Story = async (stage) => {
  const prompt = stage.agent('ended', ({ said }) => report(`ended after ${said}`))
  const { id } = await stage.create('ended', { prompt: `End ${prompt}`, lifecycle: 'terminal' })
  await stage.client.nodes.waitForOutcome(id)
  const answers = await Promise.all(
    (['resume', 'fresh'] as const).map((mode) =>
      stage.twice<NodesReviveResponse>('POST', `/v1/nodes/${id}/revive`, { mode, prompt: `Again ${mode} ${prompt}` }),
    ),
  )
  await stage.reaches(id, ['done', 'dead'])
  await stage.message(id, 'once more')
  return async () => {
    const node = await stage.client.nodes.retrieve(id)
    const [told] = await stage.rows<{ prompts: number }>(
      "SELECT count(*)::int AS prompts FROM canvas.mail WHERE node_id = $1 AND kind = 'prompt'",
      [id],
    )
    const revived = answers.filter((answer) => answer.revived).length
    return [
      ...must(node.status === 'done', `it is ${node.status}: ${JSON.stringify(node.fault)}`),
      ...must(told?.prompts === 3, `it has ${told?.prompts} prompts of 3`),
      ...must(revived >= 1, 'nobody is said to have revived it'),
      ...must(
        node.engagement >= 1 + revived && node.engagement <= 2 + revived,
        `engagement ${node.engagement} after ${revived} revivals and one message`,
      ),
    ]
  }
}

/** A program that died is brought back with all that owe work. */
export const reviveAll: Story = async (stage) => {
  const marker = stage.path('marker')
  const program = `[ -e '${marker}' ] && { echo well; exit 0; }; touch '${marker}'; exit 3`
  const { id } = await stage.create('failing', {
    prompt: 'run',
    lifecycle: 'terminal',
    engine: 'exec',
    exec: { argv: ['sh', '-c', program] },
  })
  await stage.reaches(id, ['dead'])
  const seen = await stage.client.nodes.reviveAll({ under: id })
  const answers = await Promise.all(
    [1, 2].map(() => stage.twice<ReviveAllAnswer>('POST', '/v1/nodes/revive-all', { under: id, confirm: true })),
  )
  await stage.reaches(id, ['done', 'dead'])
  return async () => {
    const node = await stage.client.nodes.retrieve(id)
    const revived = answers.flatMap((answer) => answer.revived).length
    return [
      ...must(seen.nodes.length === 1 && seen.revived.length === 0, `the look showed ${JSON.stringify(seen)}`),
      ...must(node.engagement === 1 + revived, `engagement ${node.engagement} after ${revived} revivals`),
      ...must(node.status === 'done' || node.status === 'dead', `it is ${node.status}`),
    ]
  }
}
