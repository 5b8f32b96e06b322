import { describe, expect, it } from '@jest/globals'
import type { RosterEntry } from '#sdk/index.js'
import { Output } from '../output/output.js'
import { treeLines } from './tree.view.js'

const plain = new Output(
  { on: () => undefined } as unknown as NodeJS.WriteStream,
  { on: () => undefined } as unknown as NodeJS.WriteStream,
  { NO_COLOR: '1' },
)

const entry = (id: string, parent_id: string | null, more: Partial<RosterEntry> = {}): RosterEntry =>
  ({
    id,
    parent_id,
    name: `name of ${id}`,
    kind: 'general',
    status: 'done',
    streaming: false,
    fault: null,
    attention: 0,
    cost_usd: 0,
    created_at: `2026-01-01T00:00:0${id}.000Z`,
    last_activity_at: '2026-01-01T00:00:00.000Z',
    ...more,
  }) as RosterEntry

describe('treeLines', () => {
  it('draws each node under its parent, oldest first', () => {
    const nodes = [entry('4', '2'), entry('3', '1'), entry('2', '1'), entry('1', null), entry('5', 'unknown')]
    expect(treeLines(nodes, plain).map((line) => line.replace(/ general.*/, ''))).toEqual([
      '✓ name of 1',
      '├─ ✓ name of 2',
      '│  └─ ✓ name of 4',
      '└─ ✓ name of 3',
      '✓ name of 5',
    ])
  })

  it('says what a node is at, what it cost and what is wrong with it', () => {
    const [writing, faulty, hanging] = treeLines(
      [
        entry('1', null, { status: 'active', streaming: true, cost_usd: 1.5 }),
        entry('2', null, { status: 'dead', fault: 'crash_loop' }),
        entry('3', null, { status: 'active', attention: 1 }),
      ],
      plain,
    )
    expect(writing).toMatch(/^● name of 1 general {2}writing .* \$1\.50 1$/)
    expect(faulty).toMatch(/^✗ .*! crash_loop 2$/)
    expect(hanging).toMatch(/! needs you 3$/)
  })
})
