import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type MockConversation, MockModel } from '#common/testing/mock-model.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client, Cron } from '#sdk/index.js'
import { TestDaemon } from '../support/daemon.js'

const patience = { timeout: 60_000 }

let daemon: TestDaemon
let mock: MockModel
let client: Client
beforeAll(async () => {
  ;[daemon, mock] = await Promise.all([TestDaemon.start(), MockModel.start()])
  client = daemon.client({ timeout: 90_000 })
  await daemon.useModel(mock)
})
afterAll(() => Promise.all([daemon.stop(), mock.stop()]))

const svc = (...args: string[]) => ({ toolCalls: [{ name: 'svc', input: { args } }] })

/** Conversations of the node that was given this prompt, newest last. */
const heard = (prompt: string): MockConversation[] => {
  const found: MockConversation[] = []
  mock.deciding((conversation) => {
    if (conversation.user[0]?.includes(prompt)) found.push(conversation)
    return undefined
  })
  return found
}

const resident = (prompt: string, scopes: string[]) =>
  client.nodes.create({ prompt, cwd: daemon.workDir, lifecycle: 'resident', scopes })

const resting = (id: string) =>
  waitFor(async () => (await client.nodes.retrieve(id)).status === 'idle', { ...patience, what: `${id} at rest` })

const cronsOf = async (id: string): Promise<readonly Cron[]> => (await client.crons.list({ node_id: id })).data

describe('an agent without a shell', () => {
  it('that may schedule wakes itself at its time by its tool `svc`, and rests at no cost until then', async () => {
    const asked = heard('look again soon')
    mock.deciding(({ user, said }) => {
      if (!user[0]?.includes('look again soon')) return undefined
      if (user.some((text) => text.includes('it is time to look'))) return { text: 'I have looked.' }
      return said === 0 ? svc('cron', 'add', '--in', '3s', '--message', 'it is time to look') : { text: 'Until then.' }
    })

    const { id } = await resident('look again soon', ['svc:schedule'])
    const [armed] = await waitFor(async () => {
      const found = await cronsOf(id)
      return found.length > 0 && found
    }, patience)
    expect(armed).toMatchObject({ owner_node_id: id, action: { type: 'message', node_id: id }, status: 'active' })
    await resting(id)

    const over = await waitFor(async () => {
      const cron = await client.crons.retrieve(armed?.id as string)
      return cron.status !== 'active' && cron
    }, patience)
    expect(over).toMatchObject({ status: 'completed', last_fire: { status: 'succeeded', node_id: id, error: null } })
    await resting(id)
    expect(asked[0]?.system).toContain('"cron", "add"')
    expect(asked.at(-1)?.user.join()).toContain('it is time to look')
    expect((await client.nodes.retrieve(id)).cycles).toBe(2)
  })

  it('that may not schedule is told of no schedules, and gets none', async () => {
    const asked = heard('try to look again')
    mock.deciding(({ user, said }) => {
      if (!user[0]?.includes('try to look again')) return undefined
      return said === 0 ? svc('cron', 'add', '--in', '3s', '--message', 'it is time to look') : { text: 'I can not.' }
    })

    const { id } = await resident('try to look again', ['svc:llm'])
    await resting(id)
    expect(asked[0]?.system).not.toContain('"cron", "add"')
    expect(asked.at(-1)?.tool.join()).toContain('svc:schedule')
    expect(await cronsOf(id)).toEqual([])
  })
})
