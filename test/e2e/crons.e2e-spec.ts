import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { isoTime, systemClock } from '#common/kernel/clock.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Cron, CronCreate, CronFire, LedgerEntry } from '#sdk/index.js'
import { svc } from '../support/command.js'
import { TrustStage } from '../trust/trust.stage.js'

let stage: TrustStage
let cwd: string
beforeAll(async () => {
  stage = await TrustStage.start()
  cwd = stage.directory()
})
afterAll(() => stage.stop())

const everyHour = { every: 3600 }
/** Soon enough to wait for. */
const soon = () => ({ at: isoTime(systemClock.now() + 1200) })
const program = (...argv: string[]) => ({
  ...{
    type: 'create_node' as const,
    prompt: 'go',
    cwd,
    engine: 'exec',
    exec: { argv },
    lifecycle: 'terminal' as const,
  },
})
const command = (text: string) => ({ type: 'bash' as const, cwd, command: text })
const message = (node_id: string, body = 'hello') => ({ type: 'message' as const, node_id, body })

const arm = (body: CronCreate): Promise<Cron> => stage.client.crons.create(body)
const gone = (asked: Promise<unknown>): Promise<boolean> =>
  asked.then(
    () => false,
    ({ code }) => code === 'not_found',
  )
const firesOf = async (id: string): Promise<CronFire[]> =>
  (await stage.client.request<{ data: CronFire[] }>('GET', `/v1/crons/${id}/fires?limit=200`)).data
const ledgerOf = async (query: string): Promise<LedgerEntry[]> =>
  (await stage.client.request<{ data: LedgerEntry[] }>('GET', `/v1/ledger?${query}`)).data
const ended = ({ status }: CronFire): boolean => !['queued', 'starting', 'running'].includes(status)

/** The newest firing once it has ended. */
const endOf = (id: string): Promise<CronFire> =>
  waitFor(async () => (await firesOf(id)).filter(ended).at(0), { what: `the end of a firing of ${id}` })
/** Fires it by hand and waits for the end. */
const run = async (id: string): Promise<CronFire> => {
  const { slot } = await stage.client.crons.run(id)
  return waitFor(async () => (await firesOf(id)).find((fire) => fire.slot === slot && ended(fire)), {
    what: `the end of ${id}`,
  })
}
const says = async (...args: string[]): Promise<string> => {
  const end = await svc(stage.daemon, args)
  expect({ ...end, args }).toMatchObject({ code: 0 })
  return end.stdout
}

describe('the scheduler', () => {
  it('is a part of the daemon that says what it takes', async () => {
    const { parts, limits } = await stage.client.system.status()
    expect(parts.find(({ name }) => name === 'scheduler')).toMatchObject({ state: 'ready', detail: null })
    expect(limits).toMatchObject({ crons_of_node: 100, crons_of_app: 1000, cron_cadence_s: 60 })
  })
})

describe('a schedule', () => {
  it('armed by the command fires at its time, once, and its work is what it is judged by', async () => {
    const armed = (await says('cron', 'add', '--in', '1s', '--name', 'tea', '--cwd', cwd, '--', 'echo', 'tea is ready'))
      .split('\n')
      .at(0) as string
    expect(armed).toMatch(/^cron_\w{26}$/)

    const fire = await endOf(armed)

    expect(fire).toMatchObject({ trigger: 'schedule', status: 'succeeded', cause: null, slots: 1, error: null })
    expect(fire.lateness_ms).toBeLessThan(1000)
    const { final_report } = await stage.client.nodes.outcome(fire.node_id as string)
    expect(final_report?.body).toBe('tea is ready')
    const cron = await stage.client.crons.retrieve(armed)
    expect(cron).toMatchObject({ name: 'tea', status: 'completed', next_fire_at: null, consecutive_failures: 0 })
    expect(cron.last_fire).toEqual(fire)
    expect(await ledgerOf(`cron_id=${armed}`)).toEqual([])
    expect(await says('cron', 'history', armed)).toMatch(/succeeded/)
  })

  it('that is told to goes after its first success', async () => {
    const { id } = await arm({ schedule: everyHour, action: command('test -e made || exit 1'), delete_after_run: true })
    expect(await run(id)).toMatchObject({ status: 'failed', exit_code: 1 })
    expect((await stage.client.crons.retrieve(id)).status).toBe('active')
    writeFileSync(join(cwd, 'made'), '')
    await stage.client.crons.run(id)
    await waitFor(() => gone(stage.client.crons.retrieve(id)), { what: 'the end of the schedule' })
  })

  it('shows its next times, and those of one that is not armed', async () => {
    const { id, next_fire_at } = await arm({ schedule: { cron: '@daily', tz: 'Asia/Tokyo' }, action: command('true') })
    const { data } = await stage.client.request<{ data: { slot: string; local: string; due_at: string }[] }>(
      'GET',
      `/v1/crons/${id}/next?count=3`,
    )
    expect(data).toHaveLength(3)
    expect(data[0]?.due_at).toBe(next_fire_at)
    for (const { slot, local } of data) {
      expect(slot).toMatch(/T15:00:00/)
      expect(local).toMatch(/T00:00:00.*\+09:00/)
    }
    const schedule = { cron: '30 2 * * *', tz: 'Europe/Berlin' }
    const before = { schedule, start_at: '2061-03-26T00:00:00.000Z', count: 2 }
    // the clock is put forward at two that night
    const { body } = await stage.owner('POST /v1/crons/preview', before)
    expect(body.data).toHaveLength(2)
    await stage.client.crons.delete(id)
  })
})

describe('an action', () => {
  it('of the shell has its exit code and the end of what it wrote', async () => {
    const { id } = await arm({ schedule: everyHour, action: command('echo out; echo err >&2; exit 3') })
    const fire = await run(id)
    expect(fire).toMatchObject({ trigger: 'manual', status: 'failed', exit_code: 3, node_id: null })
    expect(fire.output).toMatch(/out/)
    expect(fire.output).toMatch(/err/)

    const shown = await svc(stage.daemon, ['cron', 'run', id, '--wait'])
    expect(shown.code).toBe(1)
    expect(shown.stdout).toContain('out')
    expect(shown.stderr).toContain('exit code 3')
  })

  it('of the shell acts once for its slot, whoever asks for it again', async () => {
    const { id } = await arm({ schedule: soon(), action: command('echo x >> counted') })
    await waitFor(() => existsSync(join(cwd, 'counted')), { what: 'the command' })
    expect((await stage.owner('POST /v1/crons/poke')).status).toBe(200)
    expect(await endOf(id)).toMatchObject({ status: 'succeeded', exit_code: 0 })
    expect(readFileSync(join(cwd, 'counted'), 'utf8')).toBe('x\n')
    expect(await firesOf(id)).toHaveLength(1)
  })

  it('that is a message wakes a node that rests, and has succeeded when that has dealt with it', async () => {
    stage.mock.always({ text: 'So be it.' })
    const { id: node } = await stage.rested()
    const { id } = await arm({ schedule: soon(), action: message(node, 'it is nine o’clock') })

    const fire = await endOf(id)

    expect(fire).toMatchObject({ status: 'succeeded', node_id: node, message_id: expect.stringMatching(/^msg_/) })
    const asked = stage.mock.requests().filter(({ body }) => JSON.stringify(body.messages).includes('nine o’clock'))
    expect(asked).toHaveLength(1)
    expect((await stage.client.nodes.retrieve(node)).status).toBe('idle')
  })

  it('goes on when its schedule is deleted, and keeps its history', async () => {
    const { id } = await arm({
      schedule: everyHour,
      action: program('sh', '-c', 'until [ -e go ]; do sleep 0.02; done'),
    })
    const { slot } = await stage.client.crons.run(id)
    const [begun] = await waitFor(async () => {
      const fires = await firesOf(id)
      return fires[0]?.status === 'running' && fires
    })
    expect(begun?.slot).toBe(slot)
    await stage.client.crons.delete(id)
    writeFileSync(join(cwd, 'go'), '')
    const { status } = await stage.client.nodes.waitForOutcome(begun?.node_id as string)
    expect(status).toBe('done')
    expect(await gone(firesOf(id))).toBe(true)
  })
})

describe('work that fails', () => {
  it('is a firing that failed with the fault of its node; the third in a row pauses it and raises attention', async () => {
    const { id } = await arm({ name: 'luckless', schedule: everyHour, action: program('sh', '-c', 'exit 7') })
    const fires = [await run(id), await run(id)]
    for (const { status, cause, error } of fires) {
      expect([status, cause]).toEqual(['failed', 'work_failed'])
      expect(error?.message).toMatch(/7/)
    }
    expect(await stage.client.crons.retrieve(id)).toMatchObject({ status: 'active', consecutive_failures: 2 })
    const [died] = fires
    expect((await stage.client.nodes.retrieve(died?.node_id as string)).status).toBe('dead')

    await run(id)

    expect(await stage.client.crons.retrieve(id)).toMatchObject({
      ...{ status: 'paused', pause_reason: 'failures', consecutive_failures: 3, next_fire_at: null },
      last_fire: { status: 'failed', error: { message: expect.stringMatching(/7/) } },
    })
    const concern = async () =>
      (await stage.client.canvas.attention({ limit: 200 })).items.find(({ cron_id }) => cron_id === id)
    const raised = await waitFor(concern, { what: 'attention' })
    expect(raised).toMatchObject({ type: 'schedule', node_id: null, message: expect.stringContaining('luckless') })
    expect(raised.remedy).toContain(id)

    await stage.client.crons.resume(id)
    await waitFor(async () => !(await concern()), { what: 'no attention any more' })
    expect(await stage.client.crons.retrieve(id)).toMatchObject({ status: 'active', consecutive_failures: 0 })
  })

  it('stands in the ledger with the command that does it now', async () => {
    const action = program('sh', '-c', `test -e ${join(cwd, 'mended')} || exit 9`)
    const { id } = await arm({ name: 'mendable', schedule: soon(), action })
    await endOf(id)
    const [entry] = await ledgerOf(`cron_id=${id}`)
    expect(entry).toMatchObject({
      ...{ kind: 'slot', state: 'failed', cause: 'work_failed', cron_id: id, name: 'mendable', count: 1 },
      action: { method: 'POST', path: `/v1/crons/${id}/run` },
    })
    expect(entry?.message).toMatch(/9/)
    const line = (await says('ledger', '--cron', id)).split('\n').find((text) => text.includes('mendable')) as string
    const now = entry?.action?.command as string
    expect(line).toContain(now)

    writeFileSync(join(cwd, 'mended'), '')
    await says(...now.split(' ').slice(1), '--wait')

    expect(await stage.client.crons.retrieve(id)).toMatchObject({
      last_fire: { trigger: 'manual', status: 'succeeded' },
    })
  })
})

describe('the authority of a schedule', () => {
  const held = () => ['svc:schedule', 'svc:act', 'svc:llm', `svc:files:rw:user:${cwd}`]

  it('outlives the token that armed it', async () => {
    const ref = await stage.app(held())
    const { body: minted } = await stage.owner('POST /v1/tokens', { app: ref })
    const ask = stage.voice(minted.token)
    const said = await ask('POST /v1/crons', { schedule: soon(), action: program('true') })
    expect([said.status, said.body.app_id, said.body.created_by.kind]).toEqual([201, ref, 'app'])
    await stage.owner(`DELETE /v1/tokens/${minted.id}`)
    expect((await ask('GET /v1/crons')).body.code).toBe('token_revoked')

    const fire = await endOf(said.body.id)

    expect(fire).toMatchObject({ status: 'succeeded', error: null })
    const node = await stage.client.nodes.retrieve(fire.node_id as string)
    expect(node).toMatchObject({ app_id: ref, scopes: expect.not.arrayContaining(['*']) })
  })

  it('is what its app may do at each firing: narrowed, it is refused with the scope that it lacks', async () => {
    const ref = await stage.app(held())
    const ask = await stage.asApp(ref)
    const { body } = await ask('POST /v1/crons', { schedule: everyHour, action: program('touch', 'forbidden') })
    const narrowed = await stage.owner(`PUT /v1/apps/${ref}/grant`, { scopes: ['svc:schedule'] })
    expect(narrowed.status).toBe(200)

    const fire = await run(body.id)

    expect(fire).toMatchObject({ status: 'failed', cause: 'refused', error: { code: 'scope_missing' } })
    expect(fire.error?.message).toContain('svc:act')
    expect(existsSync(join(cwd, 'forbidden'))).toBe(false)
    expect((await ledgerOf(`cron_id=${body.id}`)).at(0)).toMatchObject({ state: 'failed', cause: 'refused' })

    await stage.owner(`PUT /v1/apps/${ref}/grant`, { scopes: held() })
    expect(await run(body.id)).toMatchObject({ status: 'succeeded' })
    expect(existsSync(join(cwd, 'forbidden'))).toBe(true)
  })
})

describe('a node that ends', () => {
  it('canceled takes those with it that it armed and those aimed at it', async () => {
    const node = await stage.waiting({ scopes: ['svc:schedule', 'svc:act', 'svc:llm'] })
    const child = await stage.waiting({ parent_id: node.id, cwd: node.cwd })
    const other = await stage.waiting()
    const of = (owner_node_id: string) => arm({ owner_node_id, schedule: everyHour, action: message(owner_node_id) })
    const [own, ofChild, kept] = [await of(node.id), await of(child.id), await of(other.id)]
    const aimed = await arm({ schedule: everyHour, action: message(child.id) })

    await stage.client.nodes.cancel(node.id)

    for (const { id } of [own, ofChild, aimed]) {
      await waitFor(() => gone(stage.client.crons.retrieve(id)), { what: `the end of ${id}` })
    }
    expect((await stage.client.crons.retrieve(kept.id)).status).toBe('active')
  })

  it('done with its work takes those with it that fire once', async () => {
    const node = await stage.client.nodes.create({
      ...{ prompt: 'go', cwd, engine: 'exec', lifecycle: 'terminal', scopes: ['svc:schedule'] },
      exec: { argv: ['sh', '-c', 'until [ -e enough ]; do sleep 0.02; done'] },
    })
    const of = (schedule: CronCreate['schedule']) => arm({ owner_node_id: node.id, schedule, action: message(node.id) })
    const [once, again] = [await of({ at: '2060-01-01T00:00:00.000Z' }), await of(everyHour)]
    writeFileSync(join(cwd, 'enough'), '')
    await stage.client.nodes.waitForOutcome(node.id)

    await waitFor(() => gone(stage.client.crons.retrieve(once.id)), { what: `the end of ${once.id}` })
    expect((await stage.client.crons.retrieve(again.id)).status).toBe('active')
  })
})
