import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Operation, routes } from '../../libs/common/src/contract/index.js'
import { essence, hasActed, type Said, sendKeyed } from '../support/repeat-ask.js'
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

const send = (entry: Operation, key: string, part: Part, token?: string): Promise<Said> =>
  sendKeyed(stage.daemon, entry, { key, token }, part)
const acted = (said: Said): Promise<boolean> => hasActed(stage.daemon, said)

/** What was asked for and answered before the daemon was killed. */
const told = new Map<string, { scene: Scene; first: Said }>()

const expectSame = (again: Said, first: Said, scene: Scene): void => {
  expect([again.status, essence(again, scene), again.replayed]).toEqual([first.status, essence(first, scene), true])
  // a secret is told in the first answer alone
  expect(again.text).not.toMatch(/svc_(own|app|run|node|pub|rt)_/)
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
      const first = twins.find(({ status, replayed }) => status < 300 && !replayed) as Said
      expect([twins.map(({ code, status }) => code ?? status), first]).toEqual([expect.anything(), expect.anything()])
      const twin = twins.find((answer) => answer !== first) as Said
      if (twin.code) expect(twin.code).toBe('idempotency_in_progress')
      else expectSame(twin, first, scene)
      const again = await send(entry, name, scene, scene.token)
      expectSame(again, first, scene)
      if (scene.effects) expect(await scene.effects()).toBe(1)
      else expect([await acted(first), await acted(twin), await acted(again)]).toEqual([true, false, false])
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
    const { scene, first } = told.get(name) as { scene: Scene; first: Said }
    const before = await scene.effects?.()
    const again = await send(keyed.find((entry) => entry.name === name) as Operation, name, scene, scene.token)
    expectSame(again, first, scene)
    expect(await acted(again)).toBe(false)
    expect(await scene.effects?.()).toBe(before)
  })
})
