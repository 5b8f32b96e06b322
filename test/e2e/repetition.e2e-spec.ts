import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Operation, routes } from '../../libs/common/src/contract/index.js'
import { type Part, type Scene, scenes } from '../support/repeat-scenes.js'
import { RepeatStage } from '../support/repeat-stage.js'

const keyed = routes.filter(({ idempotency }) => idempotency === 'key')

let stage: RepeatStage
let stranger: string
beforeAll(async () => {
  stage = await RepeatStage.start()
  stranger = await stage.tokenOf(await stage.program())
})
afterAll(() => stage?.stop())

interface Answer {
  readonly status: number
  readonly text: string
  readonly code?: string
  readonly replayed: boolean
  readonly requestId: string
}

let asked = 0
const send = async (entry: Operation, key: string, part: Part, token = stage.daemon.token): Promise<Answer> => {
  asked += 1
  const requestId = `${entry.name}-${asked}`
  const path = (entry.path as string).replace(/\{(\w+)\}/g, (_, name: string) => part.at?.[name] ?? '')
  const response = await fetch(new URL(path, stage.daemon.baseUrl), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'idempotency-key': key,
      'x-request-id': requestId,
      ...(part.body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(part.body !== undefined && { body: JSON.stringify(part.body) }),
  })
  const text = await response.text()
  const code = response.status < 400 ? {} : { code: (JSON.parse(text) as { code: string }).code }
  const replayed = response.headers.get('idempotency-replayed') === 'true'
  return { status: response.status, text, ...code, replayed, requestId }
}

/** Whether a request has done something, by the events that bear its id. */
const hasActed = async ({ requestId }: Answer): Promise<boolean> => {
  const found = 'SELECT 1 FROM canvas.events WHERE correlation_id IN ($1, $2) LIMIT 1'
  return (await stage.daemon.rows(found, [requestId, `viewer-${requestId}`])).length > 0
}

/** What was asked for and answered before the daemon was killed. */
const told = new Map<string, { scene: Scene; first: Answer }>()

const expectSame = (again: Answer, first: Answer, { same = (answer) => answer }: Scene): void => {
  const said = ({ text }: Answer): unknown => (text === '' ? '' : same(JSON.parse(text)))
  expect([again.status, said(again), again.replayed]).toEqual([first.status, said(first), true])
}

it('every POST with a key is asked for here', () => {
  expect(keyed.map(({ name }) => name).filter((name) => !scenes[name])).toEqual([])
})

describe.each(keyed.filter(({ name }) => scenes[name]).map((entry) => [entry.name, entry] as const))(
  '%s',
  (name, entry) => {
    it('takes effect once for a key, and answers its repetition alike', async () => {
      const scene = await (scenes[name] as (typeof scenes)[string])(stage, name)
      const twins = await Promise.all([send(entry, name, scene, scene.token), send(entry, name, scene, scene.token)])
      const first = twins.find(({ status, replayed }) => status < 300 && !replayed) as Answer
      expect([twins.map(({ code, status }) => code ?? status), first]).toEqual([expect.anything(), expect.anything()])
      const twin = twins.find((answer) => answer !== first) as Answer
      if (twin.code) expect(twin.code).toBe('idempotency_in_progress')
      else expectSame(twin, first, scene)
      const again = await send(entry, name, scene, scene.token)
      expectSame(again, first, scene)
      if (scene.effects) expect(await scene.effects()).toBe(1)
      else expect([await hasActed(first), await hasActed(twin), await hasActed(again)]).toEqual([true, false, false])
      told.set(name, { scene, first })
    })

    it('refuses the key for another request, and knows it of nobody else', async () => {
      const { scene } = told.get(name) as { scene: Scene }
      expect(await send(entry, name, scene.other, scene.token)).toMatchObject({ code: 'idempotency_key_reused' })
      const strange = await send(entry, name, scene, stranger)
      expect([strange.replayed, strange.code?.startsWith('idempotency') ?? false]).toEqual([false, false])
    })
  },
)

describe('a daemon that was killed and started again', () => {
  beforeAll(async () => {
    stage.daemon.processes.kill('daemon')
    await stage.daemon.startAgain()
  })

  it.each(keyed.map(({ name }) => name))('answers the repetition of %s as before', async (name) => {
    const { scene, first } = told.get(name) as { scene: Scene; first: Answer }
    const before = await scene.effects?.()
    const again = await send(keyed.find((entry) => entry.name === name) as Operation, name, scene, scene.token)
    expectSame(again, first, scene)
    expect(await hasActed(again)).toBe(false)
    expect(await scene.effects?.()).toBe(before)
  })
})
