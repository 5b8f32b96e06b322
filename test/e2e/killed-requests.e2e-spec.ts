import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { contract, type Operation, type OperationName } from '../../libs/common/src/contract/index.js'
import type { AdminConnection } from '../../libs/common/src/testing/admin-connection.js'
import { waitFor } from '../../libs/common/src/testing/wait-for.js'
import { startPatientProvider } from '../support/patient-provider.js'
import { type Said, sendKeyed } from '../support/repeat-ask.js'
import { type Scene, scenes } from '../support/repeat-scenes.js'
import { RepeatStage } from '../support/repeat-stage.js'

let stage: RepeatStage
let database: AdminConnection
beforeAll(async () => {
  stage = await RepeatStage.start()
  database = await stage.daemon.database()
})
afterAll(async () => {
  await database?.close()
  await stage?.stop()
})

const sceneOf = (name: OperationName): Promise<Scene> =>
  (scenes[name] as (typeof scenes)[string])(stage, `${name} again`)
const send = (name: OperationName, key: string, scene: Scene): Promise<Said> =>
  sendKeyed(stage.daemon, contract[name] as Operation, { key, token: scene.token }, scene)
const lost = (asked: Promise<unknown>): Promise<unknown> => asked.then(() => 'answered').catch(() => 'lost')
const killDaemon = (): void => void stage.daemon.processes.kill('daemon')
const count = async (sql: string, values: unknown[] = []): Promise<number> => (await database.rows(sql, values)).length

/** Backends that wait for something in the middle of a transaction that holds a key. */
const waiting = (table: string, event: string): Promise<number> =>
  count(
    `SELECT DISTINCT l.pid FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE l.relation = $1::regclass AND l.granted AND a.wait_event = $2`,
    [table, event],
  )

/** Until so many wait for a table that is locked. */
const blocked = (table: string, times: number): Promise<unknown> =>
  waitFor(
    async () =>
      (await count('SELECT 1 FROM pg_locks WHERE relation = $1::regclass AND NOT granted', [table])) === times,
    { what: `those who wait for ${table}` },
  )

/** Lets go of what was locked; what the killed daemon had begun, and its server may have as a whole, ends first. */
const letGo = async (): Promise<void> => {
  const waits = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
  await count(waits) // none are left when their time to wait for a lock (2 s) was over first
  await database.run('ROLLBACK')
}

describe('a daemon that is killed after a commit and before its answer', () => {
  /** A commit is on the disk and answered to nobody, as long as it waits for a standby that there is none of. */
  const holdCommits = async (hold: boolean): Promise<void> => {
    const settings = await stage.daemon.database()
    await settings.run(`ALTER SYSTEM SET synchronous_standby_names = '${hold ? 'nobody' : ''}'`)
    await settings.run('SELECT pg_reload_conf()')
    await settings.close()
    // the server takes it up a moment later; who comes new sees when it has
    await waitFor(async () => {
      const fresh = await stage.daemon.database()
      const taken = await fresh.rows("SELECT 1 WHERE current_setting('synchronous_standby_names') = $1", [
        hold ? 'nobody' : '',
      ])
      await fresh.close()
      return taken.length === 1
    })
  }
  afterEach(() => holdCommits(false))

  const stored: Partial<Record<OperationName, string>> = {
    'nodes.create': 'canvas.nodes',
    'nodes.message': 'canvas.mail',
    'human.requests.create': 'canvas.human_requests',
    'nodes.jobs.start': 'canvas.jobs',
    'apps.create': 'gateway.apps',
    'tokens.create': 'gateway.tokens',
    'customObjects.register': 'gateway.tokens',
    'customObjects.rotate': 'gateway.tokens',
    'customObjects.publish': 'objects.events',
    'crons.create': 'scheduler.crons',
    'crons.run': 'scheduler.fires',
  }
  const schemas = ['canvas', 'gateway', 'objects', 'scheduler']
  /** Where a service keeps that it has done what a key stands for. */
  const keysOf = (schema: string): string => (schema === 'objects' ? 'objects.keys' : `${schema}.idempotency`)

  it.each(schemas)('has done what it is asked again, in %s, and does it no more', async (schema) => {
    const names = (Object.keys(stored) as OperationName[]).filter((name) => stored[name]?.startsWith(schema))
    const all = await Promise.all(
      names.map(async (name) => ({ name, key: `killed ${name}`, scene: await sceneOf(name) })),
    )
    // what comes before, as a line of the audit log, is committed
    await database.run(`BEGIN; LOCK TABLE ${keysOf(schema)} IN SHARE MODE`)
    const first = all.map(({ name, key, scene }) => lost(send(name, key, scene)))
    await blocked(keysOf(schema), all.length)
    await holdCommits(true)
    await database.run('ROLLBACK')
    await waitFor(async () => (await waiting(keysOf(schema), 'SyncRep')) === all.length, {
      what: 'commits that are answered to nobody',
    })
    killDaemon()
    expect(await Promise.all(first)).toEqual(all.map(() => 'lost'))
    await holdCommits(false)
    await stage.daemon.startAgain()
    for (const { name, key, scene } of all) {
      const again = await send(name, key, scene)
      expect([name, again.code, again.replayed]).toEqual([name, undefined, true])
      const { id, message_id } = JSON.parse(again.text) as { id?: string; message_id?: string }
      const rows = () => count(`SELECT 1 FROM ${stored[name]} WHERE id = $1`, [id ?? message_id])
      expect(await (scene.effects ?? rows)()).toBe(1)
    }
  })
})

describe('a daemon that is killed before a commit', () => {
  it('has done nothing, and does it once when it is asked again', async () => {
    const scene = await sceneOf('nodes.message')
    const hello = () => count("SELECT 1 FROM canvas.mail WHERE node_id = $1 AND body = 'hello'", [scene.at?.id])
    await database.run('BEGIN')
    await database.rows('SELECT 1 FROM canvas.nodes WHERE id = $1 FOR UPDATE', [scene.at?.id])
    const first = lost(send('nodes.message', 'before', scene))
    await waitFor(async () => (await waiting('canvas.idempotency', 'transactionid')) === 1, {
      what: 'a waiting message',
    })
    killDaemon()
    expect(await first).toBe('lost')
    await letGo()
    await stage.daemon.startAgain()
    expect(await hello()).toBe(0)
    expect(await send('nodes.message', 'before', scene)).toMatchObject({ status: 200, replayed: false })
    expect(await send('nodes.message', 'before', scene)).toMatchObject({ status: 200, replayed: true })
    expect(await hello()).toBe(1)
  })
})

describe('a daemon that is killed under a model call', () => {
  const again = (scene: Scene, key: string): Promise<Said> =>
    waitFor(async () => {
      const said = await send('llm.call', key, scene)
      return said.code === 'idempotency_in_progress' ? undefined : said
    })

  it('between the answer of the provider and its own, says outcome_unknown and never asks the provider again', async () => {
    const scene = await sceneOf('llm.call')
    await database.run('BEGIN; LOCK TABLE models.spend IN EXCLUSIVE MODE')
    const first = lost(send('llm.call', 'paid', scene))
    await waitFor(async () => (await scene.effects?.()) === 1, { what: 'the provider to be asked' })
    await blocked('models.spend', 1)
    killDaemon()
    expect(await first).toBe('lost')
    await letGo()
    await stage.daemon.startAgain()
    expect(await again(scene, 'paid')).toMatchObject({ status: 409, code: 'outcome_unknown' })
    expect(await again(scene, 'paid')).toMatchObject({ code: 'outcome_unknown' })
    expect(await scene.effects?.()).toBe(1)
    expect(await again(scene, 'asked anew')).toMatchObject({ status: 200, replayed: false })
  })

  it('while the provider answers, says outcome_unknown too', async () => {
    const [scene, provider] = [await sceneOf('llm.call'), await startPatientProvider()]
    await stage.daemon.client().models.config.update({
      providers: { mock: { type: 'openai-compatible', base_url: provider.baseUrl } },
    })
    const first = lost(send('llm.call', 'cut', scene))
    await provider.begun()
    killDaemon()
    expect(await first).toBe('lost')
    await stage.daemon.startAgain()
    await stage.daemon.useModel(stage.mock)
    expect(await again(scene, 'cut')).toMatchObject({ code: 'outcome_unknown' })
    await provider.stop()
  })
})

describe('a daemon that is killed after a command, before its answer', () => {
  it('runs it no more, and answers what it said', async () => {
    const scene = await sceneOf('bash.run')
    const open = lost(send('bash.run', 'ran', scene))
    await waitFor(() => ran(scene), { what: 'the command' })
    const host = stage.daemon.processes.find('host')
    killDaemon()
    await open
    await stage.daemon.startAgain()
    expect(stage.daemon.processes.find('host')).toEqual(host)
    const again = await send('bash.run', 'ran', scene)
    expect([again.code ?? again.status, await scene.effects?.()]).toEqual([expect.anything(), 1])
    expect(again.code === undefined || again.code === 'outcome_unknown').toBe(true)
  })
})

const ran = async ({ effects }: Scene): Promise<boolean> => {
  try {
    return (await effects?.()) === 1
  } catch {
    return false // it has written nothing yet
  }
}
