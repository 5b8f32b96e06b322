import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { contract } from '#common/contract/index.js'
import { natsUrlAs } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import {
  answered,
  as,
  ask,
  bought,
  collect,
  type ModelsUnderTest,
  newNode,
  startModels,
  textOf,
  turnCall,
  useMock,
} from '../../../../test/support/models-service.js'
import { TurnSweep } from './turn.sweep.js'

let models: ModelsUnderTest
beforeEach(async () => {
  models = await startModels()
  await useMock(models)
})
afterEach(() => models.stop())

const rows = (node: string) =>
  models.database.query<{ attempt: number; status: string; holder: string }>(
    'SELECT attempt, status, holder FROM models.calls WHERE node_id = $1 ORDER BY attempt',
    [node],
  )
const isStarted = async (node: string): Promise<boolean> => (await rows(node)).at(-1)?.status === 'started'

/** The service as a process of its own, which alone serves the bus until `back` is called. */
const startProcess = async (): Promise<ChildProcess> => {
  const child = spawn(process.execPath, ['dist/apps/models/src/main.js'], {
    env: {
      PATH: process.env.PATH,
      SVC_DATA_DIR: models.url.dataDir,
      DATABASE_URL: models.database.urlFor('models'),
      NATS_URL: natsUrlAs(models.url.nats, 'models'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  await waitFor(() => said.includes('"msg":"serving"'), { what: 'a second process of the service' })
  return child
}

describe('a call that nobody asks for again', () => {
  it('is said to be of unknown outcome once its process is gone, never while that lives', async () => {
    const [left, running] = [newNode(), newNode()]
    await models.database.query(
      `INSERT INTO models.calls (node_id, turn, step, attempt, request_hash, status, holder, started_at)
       VALUES ($1, 1, 1, 1, '', 'started', 'models-00000000deadbeef', now())`,
      [left],
    )
    const release = models.mock.hold({ text: 'still running' })
    const asked = answered(ask(models, turnCall(running)))
    await waitFor(() => isStarted(running))
    const sweep = models.service.app.get(TurnSweep, { strict: false })
    await waitFor(async () => (await sweep.round()) === 1)
    expect(await rows(left)).toMatchObject([{ attempt: 1, status: 'outcome_unknown' }])
    expect(await isStarted(running)).toBe(true)
    release()
    expect(textOf((await asked).answer)).toBe('still running')
  })
})

describe('two replicas', () => {
  it('wait for each other instead of buying twice, and cancel for each other', async () => {
    await models.replica()
    const node = newNode()
    const release = models.mock.hold({ text: 'bought by one' })
    // by chance both asks may reach the same replica; enough of them reach both
    const asks = Array.from({ length: 8 }, () => answered(ask(models, turnCall(node))))
    await waitFor(() => isStarted(node))
    release()
    const results = await Promise.all(asks)
    expect(new Set(results.map(({ answer }) => textOf(answer)))).toEqual(new Set(['bought by one']))
    expect(bought(models.mock)).toBe(1)

    const other = newNode()
    models.mock.always({ text: 'and so on '.repeat(60), chunkSize: 1, pace: 100 })
    const reading = collect(ask(models, turnCall(other)))
    reading.catch(() => undefined)
    await waitFor(() => isStarted(other))
    const cancels = Array.from({ length: 6 }, () =>
      models.gateway.bus.call(contract['nodes.broker.modelCallCancel'], as(), { id: other, turn: 1, step: 1 }),
    )
    await Promise.all(cancels)
    await expect(reading).rejects.toMatchObject({ code: 'client_closed' })
  })
})

describe('a process of the service that is killed in the middle of a call', () => {
  it('leaves an attempt whose end is unknown, kept beside the one that is bought then', async () => {
    const child = await startProcess()
    await models.service.close()
    const node = newNode()
    models.mock.always({ text: 'slow and then lost '.repeat(30), chunkSize: 1, pace: 100 })
    const lost = collect(ask(models, turnCall(node)))
    lost.catch(() => undefined)
    await waitFor(() => isStarted(node))
    child.kill('SIGKILL')
    await once(child, 'exit')

    await models.replica()
    models.mock.reset()
    models.mock.always({ text: 'bought again' })
    const result = await answered(ask(models, turnCall(node)))
    expect(result).toMatchObject({ replayed: false, unknown_attempts: 1 })
    expect(await rows(node)).toMatchObject([
      { attempt: 1, status: 'outcome_unknown' },
      { attempt: 2, status: 'completed' },
    ])
  })

  it('is still waited for when it is only paused', async () => {
    const child = await startProcess()
    await models.service.close()
    const node = newNode()
    const release = models.mock.hold({ text: 'said after the pause' })
    const broker = new AbortController()
    const first = collect(ask(models, turnCall(node), broker.signal))
    first.catch(() => undefined)
    await waitFor(() => isStarted(node))
    child.kill('SIGSTOP')
    await models.replica()
    broker.abort()
    const second = answered(ask(models, turnCall(node)))
    second.catch(() => undefined)
    release()
    const due = performance.now() + 1500
    await waitFor(() => performance.now() > due)
    expect(await rows(node)).toMatchObject([{ attempt: 1, status: 'started' }])
    child.kill('SIGCONT')
    expect(textOf((await second).answer)).toBe('said after the pause')
    expect(bought(models.mock)).toBe(1)
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
})
