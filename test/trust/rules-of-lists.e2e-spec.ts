import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { MockAnswer } from '#common/testing/mock-model.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Node } from '#sdk/index.js'
import { TrustStage } from './trust.stage.js'

const vocabulary = ['svc:act', 'svc:llm', 'svc:memory:rw:user', 'svc:schedule']
const acting = ['svc:act', 'svc:llm']

const spawn = (name: string, more: object = {}): MockAnswer => ({
  toolCalls: [{ name: 'spawn', input: { prompt: 'say something', name, ...more } }],
})
/** One child like itself, then one with more than it has, then its last words. */
const spawning = [
  spawn('plain'),
  spawn('greedy', { scopes: [...acting, 'svc:schedule'] }),
  { toolCalls: [{ name: 'report', input: { kind: 'final', body: 'tried both' } }] },
]

let stage: TrustStage
beforeAll(async () => {
  stage = await TrustStage.start()
  stage.script('report and end', [{ toolCalls: [{ name: 'report', input: { kind: 'final', body: 'over' } }] }])
  stage.script('spawn a helper', spawning)
  stage.mock.always({ text: 'Done.' })
})
afterAll(() => stage.stop())

const programme = { engine: 'exec', exec: { argv: ['cat'] } } as const
const body = (more: object = {}) => ({ prompt: 'wait', cwd: stage.directory(), ...programme, ...more })
const sorted = (node: { scopes: readonly string[] }): string[] => [...node.scopes].sort()

describe('rule 1', () => {
  it("omitting a node's scope list gives it the inherited runtime vocabulary", async () => {
    const node = await stage.waiting()

    expect(sorted(node)).toEqual(vocabulary)
    expect(node.scopes_explicit).toBe(false)
  })

  it("what is inherited is the parent's, where the parent has less", async () => {
    const parent = await stage.waiting({ scopes: acting })
    const asParent = await stage.asNode(parent.id)

    const { status, body: child } = await asParent('POST /v1/nodes', body({ cwd: parent.cwd }))

    expect([status, sorted(child), child.parent_id]).toEqual([201, acting, parent.id])
  })

  it('supplying one narrows it', async () => {
    const node = await stage.waiting({ scopes: ['svc:llm'] })

    expect(node.scopes).toEqual(['svc:llm'])
    expect(node.scopes_explicit).toBe(true)
  })

  it('supplying an empty one leaves nothing: that is not the same as omitting it', async () => {
    const node = await stage.waiting({ scopes: [] })

    expect([node.scopes, node.scopes_explicit]).toEqual([[], true])
  })

  it.each(['ask', 'act', 'schedule', 'memory:read', 'memory:write', 'llm', 'svc:everything', '*', 'github:issues'])(
    'a scope list may hold no %s, which is no scope here',
    async (scope) => {
      const { status, body: problem } = await stage.owner('POST /v1/nodes', body({ scopes: [scope] }))

      expect([status, problem.code]).toEqual([422, 'validation_failed'])
    },
  )
})

describe('rule 2', () => {
  it('svc:act requires svc:llm', async () => {
    const { status, body: problem } = await stage.owner('POST /v1/nodes', body({ scopes: ['svc:act'] }))

    expect([status, problem.code]).toEqual([422, 'validation_failed'])
    expect(problem.errors[0].message).toContain('svc:act requires svc:llm')
  })

  it('a token cannot create a node whose scopes lie outside its own ceiling', async () => {
    const parent = await stage.waiting({ scopes: acting })
    const asParent = await stage.asNode(parent.id)
    const before = await stage.client.nodes.list({ under: parent.id })

    const scopes = [...acting, 'svc:schedule', 'svc:memory:read:user']
    const { status, body: problem } = await asParent('POST /v1/nodes', body({ cwd: parent.cwd, scopes }))

    expect([status, problem.code]).toEqual([403, 'scope_exceeds_ceiling'])
    expect(problem.scopes.sort()).toEqual(['svc:memory:read:user', 'svc:schedule'])
    expect((await stage.client.nodes.list({ under: parent.id })).data).toHaveLength(before.data.length)
  })

  it('a wider directory or a higher level than its own lies outside of a ceiling', async () => {
    const [home, other] = [stage.directory(), stage.directory()]
    const scopes = [...acting, `svc:files:read:user:${home}`]
    const parent = await stage.waiting({ cwd: home, scopes })
    const asParent = await stage.asNode(parent.id)
    for (const wider of [`svc:files:rw:user:${home}`, `svc:files:read:user:${other}`, 'svc:files:read:user:/']) {
      const { body: problem } = await asParent('POST /v1/nodes', body({ cwd: home, scopes: [...acting, wider] }))
      expect([problem.code, problem.scopes]).toEqual(['scope_exceeds_ceiling', [wider]])
    }
  })
})

describe("a child never regains a scope its parent's list dropped", () => {
  /** A tree that dropped two of the owner's scopes; the owner, who has them all, is who asks. */
  const dropped = acting

  const expectNothingRegained = async (id: string): Promise<void> => {
    expect(sorted(await stage.client.nodes.retrieve(id))).toEqual(dropped)
  }

  it('when it is created beneath it, by whomever', async () => {
    const parent = await stage.waiting({ scopes: dropped })
    const child = await stage.waiting({ parent_id: parent.id })
    await expectNothingRegained(child.id)

    const asked = body({ parent_id: parent.id, scopes: [...dropped, 'svc:schedule'] })
    const { status, body: problem } = await stage.owner('POST /v1/nodes', asked)
    expect([status, problem.code, problem.scopes]).toEqual([403, 'scope_exceeds_ceiling', ['svc:schedule']])
  })

  it('when it makes itself a root of its own', async () => {
    const maker = await stage.waiting({ scopes: dropped })
    const asMaker = await stage.asNode(maker.id)

    const { body: root } = await asMaker('POST /v1/nodes', body({ root: true, cwd: maker.cwd }))
    expect(root.parent_id).toBeNull()
    await expectNothingRegained(root.id)

    const more = body({ root: true, cwd: maker.cwd, scopes: [...dropped, 'svc:schedule'] })
    expect((await asMaker('POST /v1/nodes', more)).body.code).toBe('scope_exceeds_ceiling')
  })

  it('when it is forked, by itself or by whoever has more', async () => {
    const source = await stage.rested({ scopes: dropped })
    const asSource = await stage.asNode(source.id)
    for (const ask of [asSource, stage.owner]) {
      const { status, body: fork } = await ask(`POST /v1/nodes/${source.id}/fork`, {})
      expect(status).toBe(201)
      await expectNothingRegained(fork.id ?? fork.node.id)
    }
  })

  it('when it is revived', async () => {
    const node = await stage.over({ scopes: dropped })
    expect(node.status).toBe('done')

    const { status } = await stage.owner(`POST /v1/nodes/${node.id}/revive`, { prompt: 'again' })

    expect(status).toBe(200)
    await expectNothingRegained(node.id)
  })

  it.each(['recycle', 'relaunch-root'])('when it is taken over by a new one: %s', async (verb) => {
    const root = await stage.rested({ scopes: dropped })

    const { status, body: answer } = await stage.owner(`POST /v1/nodes/${root.id}/${verb}`, {})

    expect(status).toBeLessThan(300)
    const next: Node = answer.node
    expect(next.id).not.toBe(root.id)
    await expectNothingRegained(next.id)
  })

  it('when an agent starts it with its tool', async () => {
    const { id } = await stage.client.nodes.create({
      prompt: 'spawn a helper',
      cwd: stage.directory(),
      lifecycle: 'terminal',
      scopes: dropped,
    })
    const children = await waitFor(
      async () => {
        const { data } = await stage.client.nodes.list({ under: id })
        const { final_report } = await stage.client.nodes.outcome(id)
        return final_report && data.filter((node) => node.id !== id)
      },
      { timeout: 60_000, what: 'the end of the agent' },
    )

    expect(children.map(({ name }) => name)).toEqual(['plain'])
    expect(sorted(children[0] as Node)).toEqual(dropped)
    const told = stage.mock.requests().map(({ body: asked }) => JSON.stringify(asked))
    expect(told.some((text) => text.includes('svc:schedule') && /never has more|outside|ceiling/i.test(text))).toBe(
      true,
    )
  })
})
