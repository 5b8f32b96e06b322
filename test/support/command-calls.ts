import type { Command } from 'commander'
import { needsOf } from '../../apps/cli/src/access/needs.js'
import { buildProgram } from '../../apps/cli/src/program.js'
import { openShell } from '../../apps/cli/src/shell.js'
import { routes } from '../../libs/common/src/contract/index.js'
import type { Received } from './wire-server.js'

/** What the command asks on its own behalf, to know what to list. */
const ownQuestion = '/v1/token'

/** Every command of `svc`, the groups left out. */
export const everyCommand = async (): Promise<Command[]> => leavesOf(await buildProgram(openShell([], {}), () => true))

const leavesOf = (made: Command): Command[] => (made.commands.length ? made.commands.flatMap(leavesOf) : [made])

/** The command that a line is for; undefined for a group or none. */
export const commandOf = async (args: readonly string[]): Promise<Command | undefined> => {
  const cut = args.indexOf('--')
  let at = await buildProgram(openShell([], {}), () => true)
  for (const word of cut < 0 ? args : args.slice(0, cut)) {
    at = at.commands.find((child) => child.name() === word) ?? at
    if (at.commands.length === 0) return at
  }
  return undefined
}

/** The operation that a request is for: a route without parameters goes before one with them. */
export const operationOf = ({ method, path }: Pick<Received, 'method' | 'path'>): string => {
  const asked = path.split('?')[0] as string
  const fits = routes
    .filter((route) => route.method === method)
    .filter((route) => new RegExp(`^${(route.path as string).replace(/\{\w+\}/g, '[^/]+')}$`).test(asked))
    .sort((one, other) => Number(one.path?.includes('{')) - Number(other.path?.includes('{')))
  return fits[0]?.name ?? `${method} ${asked}`
}

/** Operations that were asked of the daemon by a command that does not name them. */
export const unnamedCalls = async (args: readonly string[], received: readonly Received[]): Promise<string[]> => {
  const made = await commandOf(args)
  // any route is what `svc request` is for
  if (made?.name() === 'request') return []
  const { calls = [], mayCall = [] } = (made && needsOf(made)) ?? {}
  const named: readonly string[] = [...calls, ...mayCall]
  const asked = received.filter(({ path }) => path !== ownQuestion)
  return asked.map(operationOf).filter((name) => !named.includes(name))
}
