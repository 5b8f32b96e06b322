import { describe, expect, it } from '@jest/globals'
import type { Assignment } from '#sdk/generated/types.js'
import { systemPrompt } from './system.prompt.js'

const all = ['bash', 'read', 'spawn', 'message', 'nodes', 'ask_human', 'wait', 'yield', 'roadmap', 'report']

const assignment = (more: Partial<Assignment> = {}): Assignment => ({
  node_id: 'node_a',
  generation: 1,
  engagement: 1,
  name: 'ada',
  kind: 'general',
  mode: 'base',
  lifecycle: 'terminal',
  engine: 'loop',
  exec: null,
  cwd: '/home/ada/place',
  model: { strength: 'medium' },
  scopes: ['*'],
  result_schema: null,
  parent: null,
  depth: 0,
  persona: null,
  reported: false,
  context: 1,
  turn: 0,
  forked_from: null,
  first_ord: 1,
  next_ord: 1,
  journal: [],
  mail: [],
  ...more,
})

const told = (more: Partial<Assignment> = {}, names = all, mayAct = true): string =>
  systemPrompt(assignment(more), { mayAct, names })

describe('the instructions', () => {
  it('say the role of the kind, or of the persona of the owner', () => {
    const roles = ['general', 'explore', 'plan', 'develop', 'review'].map((kind) => told({ kind }).split('\n')[0])
    expect(new Set(roles).size).toBe(5)
    expect(told({ kind: 'develop', persona: { role: 'You write little.' } })).toMatch(/^You write little\.\n/)
  })

  it('make an orchestrator plan, hand out and wait, and others work themselves', () => {
    const orchestrator = told({ mode: 'orchestrator', lifecycle: 'resident' })
    expect(orchestrator).toMatch(/You are an orchestrator.*do not do the work yourself/)
    for (const tool of ['roadmap', 'spawn', 'wait', 'message', 'yield']) expect(orchestrator).toContain(`\`${tool}\``)
    expect(orchestrator).toMatch(/brought back in a fresh context/)
    expect(told()).not.toContain('orchestrator')
    expect(told()).toMatch(/`spawn` hands a separate piece of work/)
    expect(told({ depth: 8 })).toMatch(/as deep as nodes may/)
  })

  it('name only tools that it has', () => {
    const bare = told({ mode: 'orchestrator' }, ['svc', 'report'], false)
    for (const tool of ['wait', 'message', 'yield', 'ask_human', 'bash']) expect(bare).not.toContain(`\`${tool}\``)
    expect(told({}, ['svc', 'report'], false)).not.toContain('spawn')
    expect(bare).toContain('no shell and no files')
  })

  it('say to who may act how one hears of what happens elsewhere', () => {
    expect(told({}, ['svc', 'bash', 'report'])).toContain('["canvas", "watch", object or node id')
    expect(told({}, ['svc', 'report'], false)).not.toContain('"watch"')
    expect(told({}, ['bash', 'report'])).not.toContain('"watch"')
  })

  it('say how something is done at its time to who may schedule, and what it may have done', () => {
    const names = ['svc', 'bash', 'report']
    const own = told({ scopes: ['svc:llm', 'svc:schedule'] }, names, false)
    expect(own).toContain('["cron", "add", "--cron"')
    expect(own).not.toContain('`--bash`')
    expect(told({ scopes: ['svc:act', 'svc:schedule'] }, names)).toContain('`--bash`')
    expect(told({ scopes: ['*'] }, names)).toContain('["cron", "add"')
    for (const without of [
      told({ scopes: ['svc:act', 'svc:llm'] }, names),
      told({ scopes: ['*'] }, ['bash', 'report']),
    ]) {
      expect(without).not.toContain('cron')
    }
  })

  it('say how the work ends', () => {
    expect(told()).toContain('You owe a final report')
    expect(told({ lifecycle: 'resident' })).toContain('You stay between messages')
    expect(told({ lifecycle: 'resident', result_schema: {} })).toContain('You owe a typed result')
  })

  it('tell a fork that it is not its source', () => {
    const fork = told({ forked_from: { node_id: 'node_b', turn: 3 } })
    expect(fork).toContain('You are a fork of node node_b: the conversation up to its turn 3')
    expect(fork).toContain('You are node_a and not that node')
  })

  // Providers keep the beginning of what they were sent: who an agent is stood first, and no two nodes shared anything.
  it('have all that nodes of a kind share before what is theirs alone, and nothing that changes as they work', () => {
    const one = told({ name: 'ada', node_id: 'node_a' })
    const other = told({ name: 'bob', node_id: 'node_z', cwd: '/elsewhere', generation: 7, context: 3, turn: 12 })
    const shared = [...one].findIndex((character, at) => character !== other[at])
    expect(shared).toBeGreaterThan(0.9 * one.length)
    expect(told({ context: 4, turn: 9, generation: 5 })).toBe(told())
  })
})
