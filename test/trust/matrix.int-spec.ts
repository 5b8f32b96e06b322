import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Operation } from '../../libs/common/src/contract/define.js'
import { routes } from '../../libs/common/src/contract/index.js'
import { type Caller, expected } from './matrix.callers.js'
import { type Door, knock, type Reply, shape } from './matrix.request.js'
import { MatrixStage } from './matrix.stage.js'
import { table } from './route.table.js'

let stage: MatrixStage
let doors: Door[]
let cases = 0

beforeAll(async () => {
  stage = await MatrixStage.start()
  const { addresses, socketPath } = stage.gateway.listeners
  const at = (address: string) => ({ host: new URL(address).hostname, port: new URL(address).port })
  doors = [
    { name: "the owner's listener", listener: 'owner', at: at(addresses.owner) },
    { name: 'the application listener', listener: 'app', at: at(addresses.app) },
    { name: 'the socket', listener: 'owner', at: { socketPath } },
  ]
})

afterAll(() => stage?.stop())

/** What a service says that has the request, or the gateway of its own once it has begun to work. */
const isServed = ({ status, code }: Reply): boolean => status < 300 || code === 'not_found' || code === 'already_exists'

const answered = (reply: Reply, reached: boolean, wanted: string): string => {
  if (isServed(reply)) return 'pass'
  const named = reply.code ?? `status ${reply.status}`
  return reached
    ? `${named}, but it reached the service`
    : wanted === 'scope_missing' && !reply.scope
      ? `${named} of no scope`
      : named
}

const tryOne = async (entry: Operation, door: Door, caller: Caller): Promise<string[]> => {
  const row = table[entry.name]
  if (!row) throw new Error(`the table has no row for ${entry.name}`)
  cases += 1
  const id = `matrix-${cases}`
  const wanted = expected(row, door.listener, caller)
  const reply = await knock(door, entry, shape(entry, caller.node), caller.token, id)
  const got = answered(reply, stage.services.reached.has(id), wanted)
  const passedBy = got === 'pass' && wanted === 'pass' && elsewhere(entry) && !stage.services.reached.has(id)
  const said = passedBy ? 'an answer that no service gave' : got
  return said === wanted ? [] : [`${caller.name}, by ${door.name}: ${said} instead of ${wanted}`]
}

/** Whether the request as it came is handed on to another service; followed nodes are read by the gateway itself. */
const elsewhere = ({ service, name }: Operation): boolean =>
  service !== 'gateway' && !['nodes.events', 'nodes.stream', 'canvas.events'].includes(name)

describe('by every listener, whoever asks', () => {
  it.each(routes.map((entry) => [entry.name, entry] as const))('%s answers as the table says', async (_name, entry) => {
    const found = doors.flatMap((door) => stage.callers.map((caller) => () => tryOne(entry, door, caller)))
    const wrong: string[] = []
    const next = async (): Promise<void> => {
      for (let one = found.pop(); one; one = found.pop()) wrong.push(...(await one()))
    }
    await Promise.all(Array.from({ length: 12 }, next))

    expect(wrong.sort()).toEqual([])
  })

  it('was asked thousands of times', () => expect(cases).toBeGreaterThan(5000))
})
