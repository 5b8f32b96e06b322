import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import type { CronFire, Node } from '#sdk/index.js'
import { TrustStage, type Voice } from '../trust/trust.stage.js'

let stage: TrustStage
beforeAll(async () => {
  stage = await TrustStage.start()
})
afterAll(() => stage.stop())

const scopes = ['svc:schedule', 'svc:act', 'svc:llm']
const rarely = { every: 86_400 }

interface Agent {
  readonly node: Node
  readonly ask: Voice
}
const agent = async (): Promise<Agent> => {
  const node = await stage.waiting({ scopes })
  return { node, ask: await stage.asNode(node.id) }
}
const arm = async (ask: Voice, body: object): Promise<string> => {
  const said = await ask('POST /v1/crons', { schedule: rarely, ...body })
  expect([said.status, said.body.code]).toEqual([201, undefined])
  return said.body.id
}
const command = (cwd: string, text: string) => ({ type: 'bash', cwd, command: text, timeout: 600_000 })
const newest = async (id: string): Promise<CronFire | undefined> =>
  (await stage.owner(`GET /v1/crons/${id}/fires`)).body.data?.[0]
const until = (id: string, status: CronFire['status']): Promise<CronFire | undefined> =>
  waitFor(async () => ((await newest(id))?.status === status ? newest(id) : false), { what: `${id} to be ${status}` })

describe('an agent that means ill', () => {
  it('keeps nobody’s schedules from being seen or kept by what its own say', async () => {
    const { node, ask } = await agent()
    const odd = await arm(ask, { action: command(node.cwd, `printf 'a\\0b'; printf '\\377' >&2`), name: 'x\nactive' })
    const plain = await arm(stage.owner, { action: command(stage.directory(), 'echo fine') })
    await Promise.all([ask(`POST /v1/crons/${odd}/run`), stage.owner(`POST /v1/crons/${plain}/run`)])

    expect(await until(plain, 'succeeded')).toMatchObject({ output: 'fine\n' })
    expect(await until(odd, 'succeeded')).toMatchObject({ output: 'a\ufffdb\ufffd' })
    for (const at of ['9999-12-31T23:59:59-01:00', '9999-12-31T23:59:59.999Z']) {
      const action = { type: 'message', node_id: node.id, body: 'late' }
      expect((await ask('POST /v1/crons', { schedule: { at }, action })).status).toBe(422)
      expect((await ask('POST /v1/crons', { schedule: rarely, end_at: at, action })).status).toBe(422)
    }
    expect((await stage.owner('GET /v1/crons?limit=200')).status).toBe(200)
  })

  it('has nothing of its commands go on when it is canceled', async () => {
    const { node, ask } = await agent()
    const going = await arm(ask, { action: command(node.cwd, 'touch begun; sleep 20; touch ended') })
    await ask(`POST /v1/crons/${going}/run`)
    await waitFor(() => existsSync(join(node.cwd, 'begun')), { what: 'the command to begin' })

    await stage.client.nodes.cancel(node.id)

    const [line] = await waitFor(
      async () => {
        const { body } = await stage.owner(`GET /v1/ledger?cron_id=${going}`)
        return body.data.length > 0 && body.data
      },
      { what: 'the end of the command' },
    )
    expect(line).toMatchObject({ state: 'failed', cause: 'work_canceled' })
    expect(existsSync(join(node.cwd, 'ended'))).toBe(false)
  })
})
