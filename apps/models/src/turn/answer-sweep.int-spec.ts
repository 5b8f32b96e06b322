import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  answered,
  ask,
  bought,
  type ModelsUnderTest,
  newNode,
  startModels,
  textOf,
  turnCall,
  useMock,
} from '../../../../test/support/models-service.js'
import { AnswerSweep } from './answer.sweep.js'

let models: ModelsUnderTest
beforeAll(async () => {
  models = await startModels()
  await useMock(models)
})
afterAll(() => models.stop())
beforeEach(() => models.mock.reset())

const age = (node: string, days: number) =>
  models.database.query(
    `UPDATE models.calls SET started_at = started_at - make_interval(days => $2), ended_at = ended_at - make_interval(days => $2)
      WHERE node_id = $1`,
    [node, days],
  )
const kept = (node: string) =>
  models.database.query(
    'SELECT status, response IS NULL AS dropped, output_tokens::int AS output_tokens FROM models.calls WHERE node_id = $1 ORDER BY attempt',
    [node],
  )

describe('old answers', () => {
  it('are forgotten as text, while what they cost stays', async () => {
    const [old, young] = [newNode(), newNode()]
    models.mock.always({ text: 'said', usage: { input: 10, output: 4 } })
    for (const node of [old, young]) await answered(ask(models, turnCall(node)))
    await age(old, 31)
    expect(await models.service.app.get(AnswerSweep, { strict: false }).round()).toBe(1)
    expect(await kept(old)).toMatchObject([{ status: 'completed', dropped: true, output_tokens: 4 }])
    expect(await kept(young)).toMatchObject([{ dropped: false }])
    expect(await models.database.query('SELECT class, removed::int AS removed FROM models.retention')).toMatchObject([
      { class: 'answers', removed: 1 },
    ])
  })

  it('are bought again by a turn that goes on after all, and said to be unknown', async () => {
    const node = newNode()
    models.mock.always({ text: 'again' })
    await answered(ask(models, turnCall(node)))
    await age(node, 31)
    await models.service.app.get(AnswerSweep, { strict: false }).round()
    const before = bought(models.mock)
    const result = await answered(ask(models, turnCall(node)))
    expect([textOf(result.answer), result.replayed, bought(models.mock) - before]).toEqual(['again', false, 1])
    expect(await kept(node)).toMatchObject([{ status: 'outcome_unknown' }, { status: 'completed', dropped: false }])
  })
})
