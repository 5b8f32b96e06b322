import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { svc } from '../support/command.js'
import { type Said, TrustStage, type Voice } from '../trust/trust.stage.js'

const nobody = 'node_01jd0000000000000000000000'
const everyHour = { every: 3600 }

let stage: TrustStage
let cwd: string
/** A node with everything that schedules need, and its token. */
let node: string
let asNode: Voice
let stored: unknown

beforeAll(async () => {
  stage = await TrustStage.start()
  cwd = stage.directory()
  const made = await stage.waiting({ cwd, scopes: ['svc:schedule', 'svc:act', 'svc:llm'] })
  node = made.id
  asNode = await stage.asNode(node)
  stored = await everything()
})
afterAll(() => stage.stop())
// whatever was refused
afterEach(async () => expect(await everything()).toEqual(stored))

/** All that a schedule leaves behind, wherever. */
const everything = async (): Promise<unknown> =>
  stage.daemon.rows(`SELECT (SELECT count(*) FROM scheduler.crons) AS crons, (SELECT count(*) FROM scheduler.fires) AS fires,
    (SELECT count(*) FROM scheduler.outbox) AS told, (SELECT count(*) FROM canvas.nodes) AS nodes`)

const command = (more: object = {}) => ({ type: 'bash', cwd, command: 'true', ...more })
const message = (to: string) => ({ type: 'message', node_id: to, body: 'hello' })
const program = (more: object = {}) => ({
  ...{ type: 'create_node', prompt: 'go', cwd, engine: 'exec', exec: { argv: ['true'] }, lifecycle: 'terminal' },
  ...more,
})
const arm = (body: object, ask: Voice = stage.owner): Promise<Said> =>
  ask('POST /v1/crons', { schedule: everyHour, action: command(), ...body })
const pointersOf = ({ body }: Said): string[] =>
  ((body.errors ?? []) as { pointer: string }[]).map(({ pointer }) => pointer)

describe('a schedule that could never be kept is refused, and nothing of it is stored:', () => {
  it.each([
    ['the 31st of February', { cron: '0 0 31 2 *' }, 'schedule_impossible'],
    ['the 31st of months that have 30 days', { cron: '0 0 31 4,6,9,11 *' }, 'schedule_impossible'],
    ['a zone that there is none of', { cron: '0 9 * * *', tz: 'Mars/Olympus' }, 'timezone_unknown'],
    ['an offset in place of a zone', { cron: '0 9 * * *', tz: '+02:00' }, 'timezone_unknown'],
    ['59 seconds apart', { every: 59 }, 'schedule_too_frequent'],
    ['a second apart', { every: 1 }, 'schedule_too_frequent'],
    ['a moment in the past', { at: '2020-02-29T12:00:00.000Z' }, 'schedule_past'],
    ['a field for seconds', { cron: '*/5 * * * * *' }, 'validation_failed'],
    ['an hour that no day has', { cron: '0 24 * * *' }, 'validation_failed'],
    ['a word that is none', { cron: '@reboot' }, 'validation_failed'],
    ['no distance at all', { every: 0 }, 'validation_failed'],
    ['a day that is none', { at: '2030-02-30T12:00:00.000Z' }, 'validation_failed'],
    ['two schedules at once', { every: 3600, at: '2060-01-01T00:00:00.000Z' }, 'validation_failed'],
    ['none', {}, 'validation_failed'],
  ])('%s', async (_what, schedule, code) => {
    const said = await arm({ schedule })
    expect([said.status, said.body.code]).toEqual([422, code])
    if (code === 'validation_failed') expect(pointersOf(said)[0]).toMatch(/^\/schedule/)
    // asked beforehand it says the same
    const preview = await stage.owner('POST /v1/crons/preview', { schedule })
    expect([preview.status, preview.body.code]).toEqual([422, code])
  })

  it.each([
    ['no slot between start and end', { start_at: '2061-03-01T00:00:00.000Z', end_at: '2061-12-31T00:00:00.000Z' }],
    ['an end before the start', { start_at: '2061-03-01T00:00:00.000Z', end_at: '2061-02-01T00:00:00.000Z' }],
    ['an end in the past', { end_at: '2020-01-01T00:00:00.000Z' }],
  ])('%s', async (_what, bounds) => {
    const said = await arm({ schedule: { cron: '0 0 29 2 *' }, ...bounds })
    expect([said.status, said.body.code]).toEqual([422, 'schedule_impossible'])
  })

  it('one that is spread wider than its slots are apart', async () => {
    const said = await arm({ schedule: { every: 60 }, jitter_s: 60 })
    expect([said.status, said.body.code, pointersOf(said)]).toEqual([422, 'validation_failed', ['/jitter_s']])
  })
})

describe('what could not be done is refused when it is armed:', () => {
  type Case = readonly [what: string, body: () => object, status: number, code: string]
  const refuses = async (said: Said, [, , status, code]: Case): Promise<void> =>
    expect([said.status, said.body.code]).toEqual([status, code])

  const ofAnybody: Case[] = [
    ['a message to a node that there is none of', () => ({ action: message(nobody) }), 404, 'not_found'],
    ['a node beneath one that there is none of', () => ({ action: program({ parent_id: nobody }) }), 404, 'not_found'],
    ['in the name of a node that there is none of', () => ({ owner_node_id: nobody }), 404, 'not_found'],
    ['an event of nobody', () => ({ action: { type: 'publish', event: 'e', payload: 1 } }), 422, 'validation_failed'],
    [
      'an event of an object that there is none of',
      () => ({ action: { type: 'publish', ref: 'nothing', event: 'e', payload: 1 } }),
      404,
      'not_found',
    ],
    [
      'a run, which a later daemon may start',
      () => ({ action: { type: 'start_run', app: 'x' } }),
      422,
      'action_unavailable',
    ],
    ['what nobody knows', () => ({ action: { type: 'dance' } }), 422, 'validation_failed'],
    ['a relative directory', () => ({ action: command({ cwd: 'here' }) }), 422, 'validation_failed'],
    ['no command', () => ({ action: command({ command: undefined }) }), 422, 'validation_failed'],
    ['a field that there is none of', () => ({ colour: 'red' }), 422, 'validation_failed'],
  ]
  it.each(ofAnybody)('%s', async (...one) => {
    await refuses(await arm(one[1]()), one)
  })

  const ofNode: Case[] = [
    ['a command elsewhere', () => ({ action: command({ cwd: '/opt' }) }), 403, 'path_outside_scope'],
    ['a node elsewhere', () => ({ action: program({ cwd: stage.directory() }) }), 403, 'path_outside_scope'],
    [
      'a node that may do more',
      () => ({ action: program({ scopes: ['svc:memory:rw:user'] }) }),
      403,
      'scope_exceeds_ceiling',
    ],
  ]
  it.each(ofNode)('%s, by a node', async (...one) => {
    await refuses(await arm(one[1](), asNode), one)
  })

  it('names the actions that there are', async () => {
    const { body } = await arm({ action: { type: 'start_run' } })
    expect(body.available).toEqual(['message', 'create_node', 'bash', 'publish'])
  })

  it('a message to somebody else’s node, by a node', async () => {
    const other = await stage.waiting()
    stored = await everything()
    expect(await arm({ action: message(other.id) }, asNode)).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  it('a command, by an app: its nodes have a sandbox, it has none', async () => {
    const app = await stage.asApp(await stage.app(['svc:schedule', 'svc:act', 'svc:llm', `svc:files:rw:user:${cwd}`]))
    const said = await arm({}, app)
    expect([said.status, said.body.code]).toEqual([403, 'node_token_required'])
  })

  it('by a node that has ended', async () => {
    const { id } = await stage.waiting()
    await stage.client.nodes.cancel(id)
    stored = await everything()
    const said = await arm({ owner_node_id: id, action: message(id) })
    expect([said.status, said.body.code]).toEqual([409, 'illegal_transition'])
  })
})

describe('more than there may be', () => {
  it('is refused with the limit, however many are armed at once; what goes makes room', async () => {
    const body = { schedule: everyHour, action: message(node) }
    const said = await Promise.all(Array.from({ length: 103 }, () => asNode('POST /v1/crons', body)))

    expect(said.filter(({ status }) => status === 201)).toHaveLength(100)
    const refused = said.filter(({ status }) => status !== 201)
    for (const one of refused)
      expect(one).toMatchObject({ status: 429, body: { code: 'quota_exceeded', limit: 'crons_of_node' } })
    const [first] = said.filter(({ status }) => status === 201)
    expect((await asNode(`DELETE /v1/crons/${first?.body.id}`)).status).toBe(200)
    expect((await asNode('POST /v1/crons', body)).status).toBe(201)
    stored = await everything()
  })
})

describe('the command', () => {
  it('says what is wrong and what to do about it, with the exit code of a refusal', async () => {
    const end = await svc(stage.daemon, ['cron', 'add', '--cron', '0 0 31 2 *', '--bash', 'true'])
    expect(end.code).toBe(1)
    expect(end.stderr).toContain('names no moment')
    expect(end.stderr).toContain('a date that exists')
    expect(end.stdout).toBe('')
  })
})
