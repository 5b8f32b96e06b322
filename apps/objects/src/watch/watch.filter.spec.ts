import { describe, expect, it } from '@jest/globals'
import { watchableNodeEvents } from '#common/contract/object.schema.js'
import { hasCode } from '#common/kernel/errors.js'
import { nodeFilter, objectFilter } from './watch.filter.js'

const object = { name: 'ci', catalog: [{ event: 'built', description: '', payload_schema: {} }] }
const [quiet, wakes] = [{ wakes: false }, { wakes: true }]
const refusal = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return hasCode(error, 'event_not_declared') ? error.fields : error
  }
}

describe('the filter of a watch', () => {
  it('is none where no event is named', () => {
    expect([objectFilter(object, null), nodeFilter(null, quiet)]).toEqual([[], []])
  })

  it('names events that an object declares, each once', () => {
    expect(objectFilter(object, ['built', 'built'])).toEqual(['built'])
    expect(refusal(() => objectFilter(object, ['built', 'bulit']))).toEqual({ event: 'bulit', declared: ['built'] })
    expect(refusal(() => objectFilter(object, ['built.*']))).toMatchObject({ event: 'built.*' })
  })

  it('names events of nodes, or all that begin alike', () => {
    expect(nodeFilter(['report.pushed', 'question.*'], quiet)).toEqual([
      'report.pushed',
      'question.asked',
      'question.resolved',
    ])
    expect(refusal(() => nodeFilter(['node.created'], quiet))).toMatchObject({ event: 'node.created' })
    expect(refusal(() => nodeFilter(['tool.*'], quiet))).toMatchObject({ event: 'tool.*' })
  })

  // There is no catalog of a node that an event could be added to.
  it('says of an event that nodes don’t have which ones they have', () => {
    for (const how of [quiet, wakes])
      expect(refusal(() => nodeFilter(['build.failed'], how))).toMatchObject({
        event: 'build.failed',
        declared: expect.arrayContaining(['report.pushed']),
        remedy: expect.stringMatching(/^Name events that nodes have: report\.pushed, /),
      })
    expect(refusal(() => objectFilter(object, ['bulit']))).not.toHaveProperty('remedy')
  })

  it('leaves out what every node does that is woken, where a node would be woken by it', () => {
    const left = (events: string[] | null) =>
      watchableNodeEvents.filter((event) => !nodeFilter(events, wakes).includes(event))
    expect(left(null)).toEqual(['node.idle', 'node.revived'])
    expect(nodeFilter(['node.*'], wakes)).not.toContain('node.idle')
    expect(nodeFilter(['node.idle'], quiet)).toEqual(['node.idle'])
    for (const event of ['node.idle', 'node.revived'])
      expect(() => nodeFilter(['node.done', event], wakes)).toThrow(
        expect.objectContaining({ code: 'validation_failed' }),
      )
  })
})
