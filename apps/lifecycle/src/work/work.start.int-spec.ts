import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { newId } from '#common/kernel/ids.js'
import { openAdmin } from '#common/testing/admin-connection.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, started } from '../../../../test/support/lifecycle-service.js'
import { Asking, byApp, byNode, byOwner, command, held, message, newKey, newNode } from './work.fixture.js'

let lifecycle: LifecycleUnderTest
let asking: Asking
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  asking = new Asking(lifecycle)
})
afterAll(() => lifecycle.stop())

const mailOf = (nodeId: string, kind: string) =>
  lifecycle.database.query<{ id: string; body: string; source: { kind: string; id: string | null } }>(
    'SELECT id, body, source FROM canvas.mail WHERE node_id = $1 AND kind = $2',
    [nodeId, kind],
  )
const nodesNamed = (name: string) =>
  lifecycle.database.query<{ id: string }>('SELECT id FROM canvas.nodes WHERE name = $1', [name])

const waitsForLock = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`

/** A resident that rests. */
const resting = async () => {
  const { node, broker, assignment } = await lifecycle.running()
  await broker.turn(1, assignment.mail)
  return node
}

describe('a node that is begun', () => {
  it('is made as its principal makes it, launched, and told of to whoever watches', async () => {
    const parent = await lifecycle.create()
    const by = byNode(parent.id, ['svc:act', 'svc:llm', 'svc:schedule'])

    const { node_id, message_id, accepted_at } = await asking.start(by, newNode({ cwd: undefined }))

    const node = await lifecycle.retrieve(node_id)
    expect(node).toMatchObject({
      parent_id: parent.id,
      spawned_by: parent.id,
      lifecycle: 'terminal',
      scopes: ['svc:act', 'svc:llm', 'svc:schedule'],
    })
    expect(await mailOf(node_id, 'prompt')).toMatchObject([{ id: message_id, source: { kind: 'node', id: parent.id } }])
    expect(Date.parse(accepted_at)).toBeGreaterThanOrEqual(Date.parse(node.created_at) - 1000)
    const { assignment } = await lifecycle.bound(node_id)
    expect(assignment.mail).toMatchObject([{ id: message_id, body: 'do it' }])
    await waitFor(() => lifecycle.events.some(({ subject, type }) => subject === node_id && type === 'node.created'))
  })

  it('by an app belongs to the app', async () => {
    const appId = newId('app')
    await asking.grant(appId, [...held, 'svc:files:rw:user:/tmp'])
    const { node_id } = await asking.start(byApp(appId, [...held, 'svc:files:rw:user:/tmp'], 'home'), newNode())
    expect(await lifecycle.retrieve(node_id)).toMatchObject({ app_id: appId, profile: 'home', parent_id: null })
  })
})

describe('a message that is begun', () => {
  it('wakes its node, from whom the authority is', async () => {
    const { id } = await resting()
    const { message_id, node_id } = await asking.start(byNode(id, ['svc:schedule']), message(id))
    expect(node_id).toBe(id)
    expect(await mailOf(id, 'message')).toMatchObject([
      { id: message_id, body: 'wake up', source: { kind: 'node', id } },
    ])
    const { assignment } = await lifecycle.bound(id, 2)
    expect(assignment.mail).toMatchObject([{ id: message_id }])
  })

  it('reaches a process that runs', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.append(started(1, assignment.mail))
    const over = new AbortController()
    const told: string[] = []
    const listening = (async () => {
      for await (const { type } of broker.signals(over.signal)) told.push(type)
    })().catch(() => undefined)
    await waitFor(() => told.length > 0, { what: 'the broker to listen' })
    await asking.start(byOwner, message(node.id))
    await waitFor(() => told.includes('mail'))
    over.abort()
    await listening
  })
})

describe('what was begun under a key', () => {
  it('is begun once by twenty at the same time', async () => {
    const [key, name] = [newKey(), newId('evt')]
    const answers = await Promise.all(Array.from({ length: 20 }, () => asking.start(byOwner, newNode({ name }), key)))
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(await nodesNamed(name)).toMatchObject([{ id: answers[0]?.node_id }])

    const { id } = await resting()
    const other = newKey()
    await Promise.all(Array.from({ length: 20 }, () => asking.start(byOwner, message(id), other)))
    expect(await mailOf(id, 'message')).toHaveLength(1)
  })

  it('is begun once when its connection dies before the commit', async () => {
    const [key, name] = [newKey(), newId('evt')]
    // whoever is killed here has claimed the key and made its node, and waits for its commit
    await lifecycle.database.query(`
      CREATE SEQUENCE canvas.dawdles;
      CREATE FUNCTION canvas.dawdle() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
        IF nextval('canvas.dawdles') = 1 THEN PERFORM pg_sleep(60); END IF; RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON canvas.nodes DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.name = '${name}') EXECUTE FUNCTION canvas.dawdle()`)
    const asked = asking.start(byOwner, newNode({ name }), key)
    const asleep = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`
    await waitFor(async () => (await lifecycle.database.query(`SELECT 1 ${asleep}`)).length > 0, {
      what: 'the commit that dawdles',
    })
    await lifecycle.database.query(`SELECT pg_terminate_backend(pid) ${asleep}`)
    const { node_id } = await asked
    expect(await nodesNamed(name)).toEqual([{ id: node_id }])
    expect(await asking.start(byOwner, newNode({ name }), key)).toMatchObject({ node_id })
  })

  it('is begun by the next one who asks when a process died with it', async () => {
    const [key, name] = [newKey(), newId('evt')]
    const { epoch } = await lifecycle.call('lifecycle.status', {})
    const dying = await openAdmin(lifecycle.database.urlFor('lifecycle'))
    await dying.run(`SET svc.epoch = '${epoch}'; BEGIN;
      INSERT INTO canvas.works (key, node_id, engagement, node_version, message_id, accepted_at)
      VALUES ('${key}', '', 0, 0, '', now())`)
    let answered = false
    const asked = asking.start(byOwner, newNode({ name }), key).finally(() => {
      answered = true
    })
    await waitFor(async () => (await lifecycle.database.query(waitsForLock)).length > 0, { what: 'it to wait' })
    expect(answered).toBe(false)
    await dying.close()
    const { node_id } = await asked
    expect(await nodesNamed(name)).toEqual([{ id: node_id }])
  })

  it('is known to another process of the service, also when its authority is gone by then', async () => {
    const { id } = await resting()
    const key = newKey()
    const first = await asking.start(byNode(id), message(id), key)
    await lifecycle.call('nodes.cancel', { id })
    await lifecycle.stopService()
    await lifecycle.another()
    expect(await asking.start(byNode(id), message(id), key)).toEqual(first)
    expect(await mailOf(id, 'message')).toHaveLength(1)
  })
})

describe('what is refused', () => {
  it('leaves nothing, so that a later try can succeed', async () => {
    const appId = newId('app')
    await asking.grant(appId, ['svc:llm', 'svc:schedule'])
    const scopes = [...held, 'svc:files:rw:user:/tmp']
    const key = newKey()
    expect(await failure(asking.start(byApp(appId, scopes), newNode(), key))).toMatchObject({ code: 'scope_missing' })
    expect(await asking.state(key)).toEqual({ key, state: 'absent', node_id: null, ended_at: null, error: null })
    await asking.grant(appId, scopes, { version: 2 })
    const { node_id } = await asking.start(byApp(appId, scopes), newNode(), key)
    expect(await asking.state(key)).toMatchObject({ state: 'running', node_id })
  })

  it('is what was permitted when it was checked and is not any more', async () => {
    const appId = newId('app')
    const scopes = [...held, 'svc:files:rw:user:/tmp', 'svc:files:rw:user:/opt']
    await asking.grant(appId, scopes)
    const by = byApp(appId, scopes)
    await asking.check(by, newNode({ cwd: '/opt' }))
    await asking.grant(appId, [...held, 'svc:files:rw:user:/tmp'], { version: 2 })
    expect(await failure(asking.start(by, newNode({ cwd: '/opt' })))).toMatchObject({ code: 'path_outside_scope' })
    expect((await lifecycle.retrieve((await asking.start(by, newNode())).node_id)).scopes).toEqual([
      'svc:act',
      'svc:files:rw:user:/tmp',
      'svc:llm',
      'svc:memory:rw:user',
      'svc:schedule',
    ])
    await asking.grant(appId, held, { version: 3, status: 'revoked' })
    expect(await failure(asking.start(by, newNode()))).toMatchObject({ code: 'grant_revoked' })

    const { id } = await resting()
    await asking.check(byNode(id), message(id))
    await lifecycle.call('nodes.cancel', { id })
    expect(await failure(asking.start(byNode(id), message(id)))).toMatchObject({ code: 'illegal_transition' })
    expect(await failure(asking.start(byNode(id), newNode()))).toMatchObject({ code: 'illegal_transition' })
  })

  it('is a command: its host runs that', async () => {
    expect(await failure(asking.start(byOwner, command('/tmp')))).toMatchObject({ code: 'validation_failed' })
    expect(await failure(asking.start(byOwner, { type: 'start_run' }))).toMatchObject({ code: 'action_unavailable' })
  })
})
