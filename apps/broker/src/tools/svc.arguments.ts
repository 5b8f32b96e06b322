import { listOf } from './tool.input.js'
import { ToolError } from './tool.js'

const argumentsAtMost = 200
const longest = 100_000

/** The daemon and the key are given: another address would be told the node's key. */
const fixed = /^--(base-url|token)(=|$)/

/**
 * What the node may not do is the command's to refuse, which knows its scopes.
 *
 * @throws ToolError when they are none, or name another daemon or key
 */
export const argumentsOf = (input: Record<string, unknown>): string[] => {
  const args = listOf(input, 'args', argumentsAtMost).map((argument, at) => {
    if (typeof argument !== 'string') throw new ToolError(`args[${at}] must be a string.`)
    if (argument.includes('\0')) throw new ToolError(`args[${at}] holds a zero byte.`)
    if (Buffer.byteLength(argument) > longest) throw new ToolError(`args[${at}] is longer than ${longest} bytes.`)
    return argument
  })
  if (args[0] === 'svc') args.shift()
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args
  const option = own.find((argument) => fixed.test(argument))
  if (option) throw new ToolError(`"${option.split('=')[0]}" is not taken here: address and token are set already.`)
  return args
}
