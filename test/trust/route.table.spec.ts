import { describe, expect, it } from '@jest/globals'
import { routes } from '../../libs/common/src/contract/index.js'
import { table } from './route.table.js'

const listed = Object.keys(table)

describe('the table of who may call what', () => {
  it.each(routes.map(({ name }) => name))('has a row for %s', (name) => expect(listed).toContain(name))

  it('has no row for what the contract does not have', () => {
    expect(listed.filter((name) => !routes.some((entry) => entry.name === name))).toEqual([])
  })

  it.each(routes.map((entry) => [entry.name, entry.listeners] as const))(
    'serves %s where the contract does',
    (name, listeners) => expect([...(table[name]?.on ?? [])].sort()).toEqual([...(listeners ?? [])].sort()),
  )

  it('serves an app, on its own listener, nothing of the owner’s', () => {
    const served = listed.filter((name) => table[name]?.on.includes('app'))
    expect(served.sort()).toEqual(['grant.get', 'health.get', 'system.health', 'system.openapi', 'tokens.self'])
  })
})
