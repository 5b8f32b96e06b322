// What the command must know of each operation to show only what its caller can use: its gates.
import { gatesOf, header, routesOf } from './names.mjs'

/** A gate of these is compared word by word; one with a family, a holder or a path needs the algebra of scopes. */
const plainScope = /^svc:[a-z]+$/

/** @throws Error for a gate that the command can't judge */
export function cliGates(contract) {
  const rows = routesOf(contract).map((operation) => {
    const gates = gatesOf(operation)
    const strange = gates.find((gate) => gate.startsWith('svc:') && !plainScope.test(gate))
    if (strange) throw new Error(`${operation.name}: the command can't judge the gate ${strange}`)
    return `  '${operation.name}': [${gates.map((gate) => `'${gate}'`).join(', ')}],\n`
  })
  return `${header}/** Who may call each operation: any one of its gates opens it. */
export const gates = {
${rows.join('')}} as const satisfies Record<string, readonly string[]>

export type OperationName = keyof typeof gates
`
}
