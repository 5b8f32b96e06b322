import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { JournalEntry } from '#common/contract/broker.schema.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { waitFor } from '#common/testing/wait-for.js'
import {
  LifecycleUnderTest,
  nodeContext,
  ownerContext,
  said,
  started,
} from '../../../../test/support/lifecycle-service.js'
import { GrepService } from './grep.service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

const rows = <T>(sql: string, values: unknown[] = []) => lifecycle.service.app.get(Database).query<T>(sql, values)
const search = (query: string, input: Record<string, unknown> = {}, ctx?: Context) =>
  lifecycle.call('canvas.history.search', { query, limit: 20, ...input }, ctx)
const grep = (pattern: string, input: Record<string, unknown> = {}, ctx?: Context) =>
  lifecycle.call('canvas.history.grep', { pattern, limit: 100, context: 0, ...input }, ctx)
const found = (query: string, input: Record<string, unknown> = {}) =>
  waitFor(async () => {
    const answer = await search(query, input)
    return answer.hits.length > 0 ? answer : null
  })
const ran = (turn: number, output: string, call_id = 'c'): JournalEntry[] => [
  { type: 'tool_started', turn, step: 1, call_id, name: 'bash', input: { command: 'ls\n-l' } },
  { type: 'tool_ended', turn, step: 1, call_id, name: 'bash', status: 'completed', output },
]
/** Resolves when the index holds all that was written of these nodes. */
const indexed = (...ids: string[]) =>
  waitFor(async () => {
    const behind = await rows(
      `SELECT 1 FROM canvas.counters c LEFT JOIN canvas.history_heads h ON h.node_id = c.node_id
        WHERE c.node_id = ANY ($1) AND (h.node_id IS NULL OR h.event_seq < c.event_seq OR h.journal_ord < c.journal_ord)`,
      [ids],
    )
    return behind.length === 0
  })

describe('canvas.history.search', () => {
  it('finds what was asked, said, answered by tools and reported, and says where it stands', async () => {
    const { node, broker } = await lifecycle.running({ name: 'finder', prompt: 'Look after the zebrafish' })
    await broker.append(started(1, []), said(1, 1, 'A zebrafish was seen'), ...ran(1, 'zebrafish.txt'))
    await broker.push('update', 'The zebrafish are well')
    await indexed(node.id)
    const { hits, complete } = await search('zebrafish', { under: node.id })
    expect(complete).toBe(true)
    // reports weigh most, then what was said, then mail, then tools
    expect(hits.map(({ kind }) => kind)).toEqual(['report', 'assistant', 'mail', 'tool'])
    expect(hits[1]).toMatchObject({
      node_id: node.id,
      node_name: 'finder',
      turn: 1,
      step: 1,
      ref: 2,
      line: 1,
      label: null,
    })
    expect(hits[3]).toMatchObject({ label: 'bash', snippet: 'zebrafish.txt' })
    const { snippet, highlights } = hits[0] as (typeof hits)[number]
    expect(highlights.map(([from, to]) => snippet.slice(from, to))).toEqual(['zebrafish'])
  })

  it('finds fresh text soon', async () => {
    const { node, broker } = await lifecycle.running()
    const at = performance.now()
    await broker.append(started(1), said(1, 1, 'quokkas everywhere'))
    await found('quokka', { under: node.id })
    expect(performance.now() - at).toBeLessThan(10_000)
  })

  it('takes phrases, alternatives and words that must not occur', async () => {
    const { node, broker } = await lifecycle.running()
    await broker.append(
      started(1),
      said(1, 1, 'the red fox runs'),
      said(1, 2, 'a fox so red'),
      said(1, 3, 'a green frog'),
    )
    await indexed(node.id)
    const steps = async (query: string) => (await search(query, { under: node.id })).hits.map(({ step }) => step).sort()
    expect(await steps('"red fox"')).toEqual([1])
    expect(await steps('running')).toEqual([1])
    expect(await steps('fox or frog')).toEqual([1, 2, 3])
    expect(await steps('fox -runs')).toEqual([2])
  })

  it('narrows to kinds, to a subtree, and to what the caller may see', async () => {
    const root = await lifecycle.running({ prompt: 'axolotl care' })
    const child = await lifecycle.running({ parent_id: root.node.id, prompt: 'axolotl food' })
    const sibling = await lifecycle.running({ parent_id: root.node.id, prompt: 'axolotl home' })
    await child.broker.append(started(1), said(1, 1, 'axolotl fed'))
    await indexed(root.node.id, child.node.id, sibling.node.id)
    const ids = async (input: Record<string, unknown>, ctx?: Context) =>
      (await search('axolotl', input, ctx)).hits.map(({ node_id }) => node_id)
    expect(new Set(await ids({ under: root.node.id }))).toEqual(new Set([root.node.id, child.node.id, sibling.node.id]))
    expect(new Set(await ids({ under: child.node.id }))).toEqual(new Set([child.node.id]))
    expect(await ids({ under: root.node.id, kinds: ['assistant'] })).toEqual([child.node.id])
    expect(new Set(await ids({}, nodeContext(child.node.id)))).toEqual(new Set([child.node.id]))
    expect(await failure(ids({ under: root.node.id }, nodeContext(child.node.id)))).toMatchObject({ code: 'not_found' })
  })

  it('shows an application what its own nodes said alone', async () => {
    const ofApp = (appId: string): Context =>
      ownerContext({
        actor: {
          kind: 'app',
          principal: `app:${appId}`,
          tokenId: 'tok_2',
          scopes: ['svc:llm', 'svc:act', 'svc:files:rw:user:/tmp'],
          appId,
        },
      })
    const [one, two] = [ofApp("app-o'ne"), ofApp('app-two')]
    const mine = await lifecycle.create({ prompt: 'wombat one' }, one)
    const theirs = await lifecycle.create({ prompt: 'wombat two' }, two)
    await indexed(mine.id, theirs.id)
    expect((await search('wombat', {}, one)).hits.map(({ node_id }) => node_id)).toEqual([mine.id])
    expect((await grep('wombat', {}, two)).matches.map(({ node_id }) => node_id)).toEqual([theirs.id])
    expect((await lifecycle.call('canvas.roster', { limit: 50 }, one)).data.map(({ id }) => id)).toEqual([mine.id])
    expect((await lifecycle.call('canvas.snapshot', { limit: 50 }, two)).totals.nodes).toBe(1)
    expect(await failure(search('wombat', { under: mine.id }, two))).toMatchObject({ code: 'not_found' })
  })

  it.each(['the', '-fox', '"!"'])('refuses %s, in which no word must occur', async (query) => {
    expect(await failure(search(query))).toMatchObject({
      code: 'validation_failed',
      fields: { errors: [{ pointer: '/query' }] },
    })
  })

  it('goes on among the passages that it began with, while more are written', async () => {
    const { node, broker } = await lifecycle.running()
    await broker.append(
      started(1),
      ...Array.from({ length: 9 }, (_, at) => said(1, at + 1, `pangolin ${'x '.repeat(at)}`)),
    )
    await indexed(node.id)
    const steps: (number | null)[] = []
    let step = 9
    for (let after: string | undefined; ; ) {
      const page = await search('pangolin', { under: node.id, limit: 2, ...(after && { after }) })
      steps.push(...page.hits.map((hit) => hit.step))
      step += 1
      // of little weight: its place is behind the cursor
      await broker.append(said(1, step, `pangolin ${'y z '.repeat(100)}`))
      await indexed(node.id)
      if (page.next_cursor === null) break
      after = page.next_cursor
    }
    expect(steps.sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(await failure(search('pangolin', { after: 'x' }))).toMatchObject({ code: 'validation_failed' })
  })

  it('takes text that Postgres does not, and long text in pieces', async () => {
    const { node, broker } = await lifecycle.running()
    const long = `${'filler line\n'.repeat(3000)}needle\u0000haystack`
    await broker.append(started(1), said(1, 1, long))
    await indexed(node.id)
    const { hits } = await search('haystack', { under: node.id })
    expect(hits).toHaveLength(1)
    expect(hits[0]?.line).toBeGreaterThan(2000)
  })
})

describe('canvas.history.grep', () => {
  const text = ['one', 'ERR: refused', 'two', 'err: reset', 'three'].join('\n')

  it('finds lines in either case, newest text first, with their numbers and what stands around', async () => {
    const { node, broker } = await lifecycle.running({ name: 'liner' })
    await broker.append(started(1), ...ran(1, text), said(1, 2, 'an err: too'))
    await indexed(node.id)
    const answer = await grep('err: \\w+', { node: node.id, context: 1 })
    expect(answer).toMatchObject({ next_cursor: null, cut: null })
    expect(answer.matches).toMatchObject([
      { kind: 'assistant', line: 1, text: 'an err: too', before: [], after: [] },
      {
        kind: 'tool',
        node_name: 'liner',
        label: 'bash',
        ref: 3,
        line: 2,
        text: 'ERR: refused',
        before: ['one'],
        after: ['two'],
      },
      { kind: 'tool', line: 4, text: 'err: reset', before: ['two'], after: ['three'] },
    ])
  })

  it.each(['err: r', '(?i)ERR: R', '^e\\w\\w: r', '[e]rr. r', 'reset|refused'])(
    'finds the same by %s',
    async (pattern) => {
      const { node, broker } = await lifecycle.running()
      await broker.append(started(1), ...ran(1, text))
      await indexed(node.id)
      for (const input of [{ node: node.id }, { under: node.id }, {}]) {
        const { matches } = await grep(pattern, input)
        expect(matches.filter(({ node_id }) => node_id === node.id).map(({ line }) => line)).toEqual([2, 4])
      }
    },
  )

  it('stops at its limit in the midst of a text, says so, and goes on behind it', async () => {
    const { node, broker } = await lifecycle.running()
    await broker.append(started(1), ...ran(1, Array.from({ length: 25 }, (_, at) => `hit ${at + 1}`).join('\n')))
    await indexed(node.id)
    const lines: number[] = []
    const cuts: (string | null)[] = []
    for (let after: string | undefined; ; ) {
      const page = await grep('^hit', { node: node.id, limit: 10, ...(after && { after }) })
      lines.push(...page.matches.map(({ line }) => line))
      cuts.push(page.cut)
      if (page.next_cursor === null) break
      after = page.next_cursor
    }
    expect(lines).toEqual(Array.from({ length: 25 }, (_, at) => at + 1))
    expect(cuts).toEqual(['limit', 'limit', null])
  })

  it.each([
    ['bytes', { ms: 60_000, bytes: 1 }],
    ['time', { ms: 0, bytes: 1e9 }],
  ])('stops at its bound of %s, says so, and goes on from there', async (bound, bounds) => {
    const { node, broker } = await lifecycle.running({ prompt: 'nothing here' })
    await broker.append(started(1), ...Array.from({ length: 5 }, (_, at) => said(1, at + 1, `tapir ${at}`)))
    await indexed(node.id)
    const service = lifecycle.service.app.get(GrepService)
    const whole = service.bounds
    service.bounds = bounds
    try {
      const texts: string[] = []
      for (let after: string | undefined; ; ) {
        const page = await grep('tapir', { node: node.id, ...(after && { after }) })
        texts.push(...page.matches.map(({ text }) => text))
        if (page.next_cursor === null) break
        expect(page.cut).toBe(bound)
        after = page.next_cursor
      }
      expect(texts).toEqual(['tapir 4', 'tapir 3', 'tapir 2', 'tapir 1', 'tapir 0'])
    } finally {
      service.bounds = whole
    }
  })

  it('looks at the kinds of text alone that were asked for', async () => {
    const { node, broker } = await lifecycle.running({ prompt: 'ibex' })
    await broker.append(started(1), said(1, 1, 'ibex'), ...ran(1, 'ibex'))
    await indexed(node.id)
    for (const input of [{ node: node.id }, {}]) {
      const { matches } = await grep('ibex', { ...input, kinds: ['assistant', 'mail'] })
      expect(
        matches
          .filter(({ node_id }) => node_id === node.id)
          .map(({ kind }) => kind)
          .sort(),
      ).toEqual(['assistant', 'mail'])
    }
  })

  it('refuses a pattern that is none, and a cursor that it never gave', async () => {
    expect(await failure(grep('('))).toMatchObject({
      code: 'validation_failed',
      fields: { errors: [{ pointer: '/pattern' }] },
    })
    expect(await failure(grep('a', { after: '!' }))).toMatchObject({ code: 'validation_failed' })
  })

  it('shows a node its own subtree alone', async () => {
    const root = await lifecycle.running({ prompt: 'okapi one' })
    const child = await lifecycle.running({ parent_id: root.node.id, prompt: 'okapi two' })
    await indexed(root.node.id, child.node.id)
    expect((await grep('okapi', {}, nodeContext(child.node.id))).matches.map(({ text }) => text)).toEqual(['okapi two'])
    expect(await failure(grep('okapi', { node: root.node.id }, nodeContext(child.node.id)))).toMatchObject({
      code: 'not_found',
    })
    expect((await grep('okapi', { under: child.node.id, node: root.node.id })).matches).toEqual([])
  })
})

describe('canvas.history.read', () => {
  const read = (input: Record<string, unknown>, ctx?: Context) =>
    lifecycle.call('canvas.history.read', { limit: 200, ...input }, ctx)

  it('shows the turns of a node as a person reads them', async () => {
    const { node, broker } = await lifecycle.running()
    await broker.append(started(1), said(1, 1, 'first'), ...ran(1, 'out'), {
      type: 'turn_ended',
      turn: 1,
      status: 'completed',
    })
    await broker.append(started(2), said(2, 1, 'second'))
    const whole = await read({ node: node.id })
    expect(whole.data.map(({ turn, kind, label, text }) => [turn, kind, label, text])).toEqual([
      [1, 'user', null, 'go'],
      [1, 'assistant', null, 'first'],
      [1, 'tool', 'bash', 'command: ls\n-l'],
      [1, 'tool', 'bash', 'out'],
      [1, 'turn', 'completed', ''],
      [2, 'user', null, 'go'],
      [2, 'assistant', null, 'second'],
    ])
    expect((await read({ node: node.id, from: 2 })).data.map(({ text }) => text)).toEqual(['go', 'second'])
    expect(await read({ node: node.id, from: 1, to: 1 })).toMatchObject({ has_more: false, next_cursor: null })
    expect((await read({ node: node.id, to: 1 })).data).toHaveLength(5)
    expect((await read({ node: node.id, from: 9 })).data).toEqual([])
  })

  it('comes in pages that leave nothing out', async () => {
    const { node, broker } = await lifecycle.running()
    await broker.append(started(1), ...Array.from({ length: 9 }, (_, at) => said(1, at + 1, `text ${at}`)))
    const texts: string[] = []
    for (let after: string | undefined; ; ) {
      const page = await read({ node: node.id, limit: 3, ...(after && { after }) })
      texts.push(...page.data.map(({ text }) => text))
      if (!page.has_more) break
      after = page.next_cursor as string
    }
    expect(texts).toEqual(['go', ...Array.from({ length: 9 }, (_, at) => `text ${at}`)])
  })

  it('is for those who may see the node', async () => {
    const [one, two] = [await lifecycle.create(), await lifecycle.create()]
    expect(await failure(read({ node: one.id }, nodeContext(two.id)))).toMatchObject({ code: 'not_found' })
  })
})

describe('canvas.history.stats', () => {
  const stats = (input: Record<string, unknown>, ctx?: Context) => lifecycle.call('canvas.history.stats', input, ctx)

  it('adds up turns, calls, tokens and cost, by day, model and kind', async () => {
    const root = await lifecycle.running({ kind: 'plan' })
    const child = await lifecycle.running({ parent_id: root.node.id, kind: 'review' })
    const usage = { input_tokens: 10, output_tokens: 5, cached_tokens: 2, cost_usd: 0.25 }
    for (const [at, { node, broker }] of [root, child].entries()) {
      const model = `mock/${at}`
      await lifecycle.call('lifecycle.usage.record', { source_event: `s:${node.id}`, node_id: node.id, model, usage })
      const message = { ...said(1, 1), model } as JournalEntry
      await broker.append(started(1), message, { type: 'turn_ended', turn: 1, status: 'completed' })
    }
    await indexed(root.node.id, child.node.id)
    const under = root.node.id
    const one = { nodes: 1, turns: 1, calls: 1, input_tokens: 10, output_tokens: 5, cached_tokens: 2, cost_usd: 0.25 }
    const both = { nodes: 2, turns: 2, calls: 2, input_tokens: 20, output_tokens: 10, cached_tokens: 4, cost_usd: 0.5 }
    const day = new Date(root.node.created_at).toISOString().slice(0, 10)
    expect(await stats({ under })).toEqual({ total: both, groups: [], truncated: false })
    expect(await stats({ under, by: 'day' })).toMatchObject({ groups: [{ key: day, ...both }] })
    expect((await stats({ under, by: 'model' })).groups).toEqual(
      expect.arrayContaining([
        { key: 'mock/0', ...one },
        { key: 'mock/1', ...one },
      ]),
    )
    expect(await stats({ under: child.node.id, by: 'kind' })).toMatchObject({
      total: one,
      groups: [{ key: 'review', ...one }],
    })
    expect(await stats({ under, by: 'app' })).toMatchObject({ groups: [{ key: null, ...both }] })
    expect(await stats({ under, until: '2020-01-01T00:00:00.000Z' })).toMatchObject({
      total: { nodes: 0, turns: 0, cost_usd: 0 },
    })
    expect(await stats({}, nodeContext(child.node.id))).toMatchObject({ total: one })
  })

  it('refuses a time that ends before it begins', async () => {
    const input = { since: '2026-02-01T00:00:00.000Z', until: '2026-01-01T00:00:00.000Z' }
    expect(await failure(stats(input))).toMatchObject({ code: 'validation_failed' })
  })
})
