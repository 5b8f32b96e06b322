import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { json, WireServer } from '../../../test/support/wire-server.js'
import { operations } from '../../common/src/contract/index.js'
import { Client } from './client.js'
import { routes } from './generated/routes.js'
import type { Route } from './route.js'

type Method = (...args: unknown[]) => unknown

const methodOf = (client: Client, name: string): Method => {
  const path = name.split('.')
  let at = client as unknown as Record<string, unknown>
  for (const part of path.slice(0, -1)) at = at[part] as Record<string, unknown>
  const method = at[path.at(-1) as string]
  if (typeof method !== 'function') throw new Error(`the client has no ${name}`)
  return method.bind(at) as Method
}

const typed = operations.filter(({ kind }) => kind === 'route' || kind === 'composed').map(({ name }) => name)
const checked = Object.entries(routes as Record<string, Route>).filter(([, route]) => route.checked)
const neverIdentifiers = ['', '../nodes', 'a/b', 'A', ' ', 7, null, undefined]
const notNodes = [
  ...neverIdentifiers,
  'x',
  'node_',
  'node_8zzzzzzzzzzzzzzzzzzzzzzzzz',
  'cron_01jd0000000000000000000000',
]
const notCrons = [...neverIdentifiers, 'cron_', 'cron_8zzzzzzzzzzzzzzzzzzzzzzzzz', 'node_01jd0000000000000000000000']
const composed = ['nodes.waitForOutcome']

const notIdentifiers = (name: string): readonly unknown[] => {
  if (name.startsWith('nodes.')) return notNodes
  return name.startsWith('crons.') ? notCrons : neverIdentifiers
}

describe('the client', () => {
  let wire: WireServer
  let client: Client

  beforeAll(async () => {
    wire = (await WireServer.start()).says(json({}))
    client = new Client({ baseUrl: wire.url })
  })
  afterAll(() => wire.stop())

  it.each(typed)('has %s', (name) => {
    expect(methodOf(client, name)).toBeInstanceOf(Function)
  })

  it.each([...checked.map(([name]) => name), ...composed])(
    '%s refuses what is no identifier before it sends anything',
    async (name) => {
      for (const value of notIdentifiers(name)) {
        const answer = async () => {
          const given = methodOf(client, name)(value, {}) as PromiseLike<unknown> & AsyncIterable<unknown>
          if (typeof given.then === 'function') await given
          else for await (const _ of given) break
        }
        await expect(answer()).rejects.toThrow(TypeError)
      }
      expect(wire.received).toHaveLength(0)
    },
  )

  it('checks the identifiers that the contract lists, and leaves refs, paths and ids of others to the daemon', () => {
    const families = [...new Set(checked.map(([name]) => name.split('.')[0]))].sort()
    expect(families).toEqual(['crons', 'human', 'models', 'nodes', 'profiles'])
    for (const [name, route] of Object.entries(routes as Record<string, Route>)) {
      if (/^(nodes|crons|profiles|models\.credentials)\./.test(name) && route.path.includes('{'))
        expect(Object.keys(route.checked ?? {})).toEqual(
          [...route.path.matchAll(/\{(\w+)\}/g)].map(([, param]) => param),
        )
    }
  })

  it('refuses it when a list is iterated, too', async () => {
    const iterate = async () => {
      for await (const _ of client.nodes.reports.list('x')) break
    }
    await expect(iterate()).rejects.toThrow(TypeError)
    expect(wire.received).toHaveLength(0)
  })
})
