import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import type { Node } from '#sdk/index.js'
import { TrustStage, type Voice } from './trust.stage.js'

let stage: TrustStage
beforeAll(async () => {
  stage = await TrustStage.start()
})
afterAll(() => stage.stop())

/** A node that holds this list, and its own token. */
interface Holder {
  readonly node: Node
  readonly ask: Voice
}

const holder = async (scopes: string[], more: object = {}): Promise<Holder> => {
  const node = await stage.waiting({ scopes, ...more })
  return { node, ask: await stage.asNode(node.id) }
}

const refused = (scope: string) => ({ status: 403, body: { code: 'scope_missing', scope } })
const missing = { status: 404, body: { code: 'not_found' } }

const schedule = { every: 3600 }
const message = (node_id: string) => ({ schedule, action: { type: 'message', node_id, body: 'again' } })
const newNode = (cwd: string) => ({
  schedule,
  action: { type: 'create_node', prompt: 'go', cwd, engine: 'exec', exec: { argv: ['true'] }, lifecycle: 'terminal' },
})
const command = (cwd: string) => ({ schedule, action: { type: 'bash', cwd, command: 'true' } })

/** A schedule in the name of a node, armed by the owner. */
const armedFor = async (id: string): Promise<string> => {
  const { status, body } = await stage.owner('POST /v1/crons', { ...message(id), owner_node_id: id })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.id
}
const armed = async ({ ask }: { ask: Voice }, body: unknown): Promise<string> => {
  const said = await ask('POST /v1/crons', body)
  expect([said.status, said.body.code]).toEqual([201, undefined])
  return said.body.id
}
const crons = async (query = ''): Promise<{ id: string; status: string }[]> =>
  (await stage.owner(`GET /v1/crons${query}`)).body.data

describe('svc:schedule gates', () => {
  let having: Holder
  /** One whose schedule stands, and whose app was granted svc:schedule no more. */
  let without: Holder
  let kept: string
  beforeAll(async () => {
    having = await holder(['svc:schedule'])
    const cwd = stage.directory()
    const rest = ['svc:act', 'svc:llm', `svc:files:rw:user:${cwd}`]
    const app = await stage.app([...rest, 'svc:schedule'])
    const asApp = await stage.asApp(app)
    const { body: node } = await asApp('POST /v1/nodes', {
      prompt: 'wait',
      cwd,
      engine: 'exec',
      exec: { argv: ['cat'] },
    })
    without = { node, ask: await stage.asNode(node.id) }
    kept = await armed(without, message(node.id))
    await stage.owner(`PUT /v1/apps/${app}/grant`, { scopes: rest })
  })

  it('creating a cron', async () => {
    expect(await without.ask('POST /v1/crons', message(without.node.id))).toMatchObject(refused('svc:schedule'))
    expect(await crons(`?node_id=${without.node.id}`)).toHaveLength(1)

    expect(await having.ask('POST /v1/crons', message(having.node.id))).toMatchObject({
      status: 201,
      body: { status: 'active', owner_node_id: having.node.id, created_by: { kind: 'node', id: having.node.id } },
    })
  })

  it.each([
    ['pausing', 'pause', 'active', 'paused'],
    ['resuming', 'resume', 'paused', 'active'],
    ['running', 'run', 'active', 'active'],
  ])('%s a cron', async (_what, verb, before, after) => {
    if (before === 'paused') await stage.owner(`POST /v1/crons/${kept}/pause`)
    expect(await without.ask(`POST /v1/crons/${kept}/${verb}`)).toMatchObject(refused('svc:schedule'))
    // it may look at it still
    expect((await without.ask(`GET /v1/crons/${kept}`)).body).toMatchObject({ status: before, last_fire: null })
    if (before === 'paused') await stage.owner(`POST /v1/crons/${kept}/resume`)

    const id = await armedFor(having.node.id)
    if (before === 'paused') await having.ask(`POST /v1/crons/${id}/pause`)
    expect((await having.ask(`POST /v1/crons/${id}/${verb}`)).status).toBeLessThan(300)
    expect((await having.ask(`GET /v1/crons/${id}`)).body.status).toBe(after)
  })

  it('deleting a cron', async () => {
    const gone = await armedFor(having.node.id)

    expect(await without.ask(`DELETE /v1/crons/${kept}`)).toMatchObject(refused('svc:schedule'))
    expect(await having.ask(`DELETE /v1/crons/${gone}`)).toMatchObject({ status: 200, body: { deleted: true } })

    expect((await stage.owner(`GET /v1/crons/${kept}`)).status).toBe(200)
    expect((await stage.owner(`GET /v1/crons/${gone}`)).status).toBe(404)
  })

  it('the `svc cron` commands, which are hidden without it', async () => {
    const help = async (scopes: string[]): Promise<string> => {
      const { node_id } = await stage.client.nodes.createAndWait({
        prompt: 'look',
        cwd: stage.directory(),
        lifecycle: 'terminal',
        engine: 'exec',
        exec: { argv: ['svc', '--help'] },
        scopes,
      })
      return (await stage.client.nodes.outcome(node_id)).final_report?.body ?? ''
    }
    expect(await help(['svc:act', 'svc:llm'])).not.toMatch(/^\s+cron\b/m)
    expect(await help(['svc:schedule'])).toMatch(/^\s+cron\b/m)
  })
})

describe('with svc:schedule a node arms nothing that it may not do itself', () => {
  it('without svc:act it may speak to itself alone', async () => {
    const { node, ask } = await holder(['svc:schedule'])
    const child = await stage.waiting({ parent_id: node.id, cwd: node.cwd })

    for (const body of [message(child.id), newNode(node.cwd), command(node.cwd)])
      expect(await ask('POST /v1/crons', body)).toMatchObject(refused('svc:act'))
    expect(await crons(`?node_id=${node.id}`)).toEqual([])

    await armed({ ask }, message(node.id))
  })

  it('with svc:act what lies within its subtree and its directory, and nothing else', async () => {
    const one = await holder(['svc:schedule', 'svc:act', 'svc:llm'])
    const child = await stage.waiting({ parent_id: one.node.id, cwd: one.node.cwd })
    const elsewhere = await stage.waiting()

    for (const body of [message(child.id), newNode(one.node.cwd), command(one.node.cwd)]) await armed(one, body)

    expect(await one.ask('POST /v1/crons', message(elsewhere.id))).toMatchObject(missing)
    expect((await one.ask('POST /v1/crons', newNode(elsewhere.cwd))).body.code).toBe('path_outside_scope')
    expect((await one.ask('POST /v1/crons', command('/opt'))).body.code).toBe('path_outside_scope')
    const wider = newNode(one.node.cwd)
    const more = { ...wider, action: { ...wider.action, scopes: ['svc:memory:rw:user'] } }
    expect((await one.ask('POST /v1/crons', more)).body.code).toBe('scope_exceeds_ceiling')
    expect((await one.ask('POST /v1/crons', { ...message(one.node.id), owner_node_id: elsewhere.id })).status).toBe(404)
    expect(await crons(`?node_id=${one.node.id}`)).toHaveLength(3)
  })
})

describe('who sees a cron', () => {
  let cwd: string
  let scopes: string[]
  beforeAll(() => {
    cwd = stage.directory()
    scopes = ['svc:schedule', 'svc:act', 'svc:llm', `svc:files:rw:user:${cwd}`]
  })
  /** Everything that can be asked of a cron by its id. */
  const calls = (id: string): string[] => [
    `GET /v1/crons/${id}`,
    `GET /v1/crons/${id}/fires`,
    `GET /v1/crons/${id}/next`,
    `POST /v1/crons/${id}/pause`,
    `POST /v1/crons/${id}/resume`,
    `POST /v1/crons/${id}/run`,
  ]
  const idsOf = async (ask: Voice): Promise<string[]> =>
    ((await ask('GET /v1/crons?limit=200')).body.data as { id: string }[]).map(({ id }) => id)
  /** Nothing tells whether it is there. */
  const expectUnseen = async (ask: Voice, id: string): Promise<void> => {
    const unknown = `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`
    for (const [at, call] of calls(id).entries()) {
      const [said, ofNone] = [await ask(call), await ask(calls(unknown)[at] as string)]
      expect([call, said.status, said.body.code]).toEqual([call, 404, 'not_found'])
      const told = ({ body }: typeof said): string =>
        JSON.stringify({ ...body, request_id: null, instance: null })
          .replaceAll(id, 'it')
          .replaceAll(unknown, 'it')
      expect(told(said)).toBe(told(ofNone))
    }
    // there is nothing to delete, as for one that never was
    const gone = [await ask(`DELETE /v1/crons/${id}`), await ask(`DELETE /v1/crons/${unknown}`)]
    expect(gone.map(({ status }) => status)).toEqual([404, 404])
    expect(await idsOf(ask)).not.toContain(id)
    expect((await stage.owner(`GET /v1/crons/${id}`)).body).toMatchObject({ status: 'active', last_fire: null })
  }

  it('a node sees those of itself and of those beneath it; one beside or beneath it nothing of its own', async () => {
    const parent = await holder(scopes)
    const child = await holder(scopes, { parent_id: parent.node.id, cwd: parent.node.cwd })
    const sibling = await holder(scopes)
    const [ofParent, ofChild] = [await armedFor(parent.node.id), await armedFor(child.node.id)]

    expect((await idsOf(parent.ask)).sort()).toEqual([ofParent, ofChild].sort())
    expect(await idsOf(child.ask)).toEqual([ofChild])
    await expectUnseen(child.ask, ofParent)
    for (const id of [ofParent, ofChild]) await expectUnseen(sibling.ask, id)
    const { body } = await parent.ask(`POST /v1/crons/${ofChild}/pause`)
    expect(body).toMatchObject({ id: ofChild, status: 'paused' })
  })

  it('an app sees its own and those of its nodes, and nothing of the owner’s or of another app’s', async () => {
    const [first, second] = [await stage.app(scopes), await stage.app(scopes)]
    const [one, other] = [await stage.asApp(first), await stage.asApp(second)]
    const ofOwner = await armed({ ask: stage.owner }, newNode(cwd))
    const ofFirst = await armed({ ask: one }, newNode(cwd))

    expect(await idsOf(one)).toEqual([ofFirst])
    expect(await idsOf(other)).toEqual([])
    await expectUnseen(one, ofOwner)
    await expectUnseen(other, ofFirst)
    expect(await crons(`?app_id=${first}`)).toMatchObject([{ id: ofFirst, app_id: first }])
  })

  it('a token of an app that is confined to a profile sees those of that profile', async () => {
    const app = await stage.app(scopes)
    const ofProfile = async (profile: string): Promise<Voice> => {
      const { body } = await stage.owner('POST /v1/tokens', { app, profile })
      return stage.voice(body.token)
    }
    const [home, work, whole] = [await ofProfile('home'), await ofProfile('work'), await stage.asApp(app)]
    const ofHome = await armed({ ask: home }, newNode(cwd))
    const ofNone = await armed({ ask: whole }, newNode(cwd))

    expect(await idsOf(home)).toEqual([ofHome])
    await expectUnseen(home, ofNone)
    expect(await idsOf(work)).toEqual([])
    await expectUnseen(work, ofHome)
    expect(await idsOf(whole)).toEqual([ofNone, ofHome])
  })

  it('what became of its slots is seen by who sees the cron, and by nobody else', async () => {
    const app = await stage.app(scopes)
    const ask = await stage.asApp(app)
    const failing = { ...newNode(cwd).action, exec: { argv: ['false'] } }
    const [ofApp, ofOwner] = [
      await armed({ ask }, { schedule, action: failing }),
      await armed({ ask: stage.owner }, { schedule, action: failing }),
    ]
    for (const id of [ofApp, ofOwner]) await stage.owner(`POST /v1/crons/${id}/run`)
    const ledger = async (voice: Voice, query = ''): Promise<string[]> =>
      ((await voice(`GET /v1/ledger?limit=200&kind=slot${query}`)).body.data as { cron_id: string }[])
        .map(({ cron_id }) => cron_id)
        .filter((id) => [ofApp, ofOwner].includes(id))
    await waitFor(async () => (await ledger(stage.owner)).length === 2, { what: 'both in the ledger' })

    expect(await ledger(ask)).toEqual([ofApp])
    expect(await ledger(ask, `&cron_id=${ofOwner}`)).toEqual([])
    expect(await ledger(await stage.asApp(await stage.app(scopes)))).toEqual([])
    expect(await ledger((await holder(['svc:schedule'])).ask)).toEqual([])
  })

  it('an app whose grant was revoked sees and changes nothing', async () => {
    const app = await stage.app(scopes)
    const ask = await stage.asApp(app)
    const id = await armed({ ask }, newNode(cwd))
    await stage.owner(`DELETE /v1/apps/${app}/grant`)

    for (const call of [...calls(id), `DELETE /v1/crons/${id}`, 'GET /v1/crons', 'GET /v1/ledger'])
      expect([call, (await ask(call)).body.code]).toEqual([call, 'grant_revoked'])
    expect((await stage.owner(`GET /v1/crons/${id}`)).body.status).toBe('active')
  })

  it('nobody but the owner sets all timers anew', async () => {
    const { ask } = await holder(scopes)
    const app = await stage.asApp(await stage.app(scopes))
    for (const voice of [ask, app])
      expect(await voice('POST /v1/crons/poke')).toMatchObject({ status: 403, body: { code: 'owner_required' } })
    expect((await stage.owner('POST /v1/crons/poke')).status).toBe(200)
  })
})
