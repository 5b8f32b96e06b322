import { describe, expect, it } from '@jest/globals'
import { hasCode } from '#common/kernel/errors.js'
import { nodeFilter, objectFilter } from './watch.filter.js'

const object = { name: 'ci', catalog: [{ event: 'built', description: '', payload_schema: {} }] }
const refusal = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return hasCode(error, 'event_not_declared') ? error.fields : error
  }
}

describe('the filter of a watch', () => {
  it('is none where no event is named', () => {
    expect([objectFilter(object, null), nodeFilter(null)]).toEqual([[], []])
  })

  it('names events that an object declares, each once', () => {
    expect(objectFilter(object, ['built', 'built'])).toEqual(['built'])
    expect(refusal(() => objectFilter(object, ['built', 'bulit']))).toEqual({ event: 'bulit', declared: ['built'] })
    expect(refusal(() => objectFilter(object, ['built.*']))).toMatchObject({ event: 'built.*' })
  })

  it('names events of nodes, or all that begin alike', () => {
    expect(nodeFilter(['report.pushed', 'question.*'])).toEqual([
      'report.pushed',
      'question.asked',
      'question.resolved',
    ])
    expect(refusal(() => nodeFilter(['node.created']))).toMatchObject({ event: 'node.created' })
    expect(refusal(() => nodeFilter(['tool.*']))).toMatchObject({ event: 'tool.*' })
  })
})
