import { describe, expect, it } from '@jest/globals'
import { type Kickoff, kickoffText } from './kickoff.text.js'

const kickoff = (more: Partial<Kickoff> = {}): Kickoff => ({
  node: { context: 2, engagement: 1, yield_note: null, name: 'n' },
  mandate: [],
  reports: [],
  children: [],
  jobs: [],
  ...more,
})

describe('the kickoff', () => {
  it('leaves out what there is nothing of', () => {
    expect(kickoffText(kickoff())).not.toContain('##')
  })

  it('names the first and the present piece of work apart', () => {
    const mandate = [
      { body: 'build', engagement: 1 },
      { body: 'repair', engagement: 3 },
    ]
    const text = kickoffText(kickoff({ mandate }))
    expect(text).toMatch(/made for\n\nbuild\n\n## Your present piece of work\n\nrepair/)
  })

  it('is small enough for one entry of the journal, whatever there is of everything', () => {
    const long = 'x'.repeat(600_000)
    const text = kickoffText(
      kickoff({
        node: { context: 2, engagement: 2, yield_note: 'x'.repeat(32_768), name: 'n' },
        mandate: [1, 1, 1, 1, 2].map((engagement) => ({ body: long, engagement })),
        roadmap: long,
        reports: [1, 2, 3].map(() => ({ kind: 'update', body: long, at: new Date(0) })),
        unfinished: { turn: 1, how: 'failed', mail: Array.from({ length: 20 }, () => ({ body: long })) },
      }),
    )
    expect(text.length).toBeLessThan(1024 * 1024)
    expect(text).toContain('characters more')
  })

  it('says of a new root whose place it takes', () => {
    const first = { context: 1, engagement: 1, yield_note: null, name: 'n' }
    const predecessor = { id: 'node_old', name: 'old' }
    expect(kickoffText(kickoff({ node: first, predecessor }))).toContain('the place of old (node node_old)')
    expect(kickoffText(kickoff({ predecessor }))).toContain('This is context 2')
  })
})
