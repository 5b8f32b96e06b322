// What an application may hold of the client: the methods that the application listener serves.
import { header } from './names.mjs'

/**
 * What is an application's, by the contract. The listener serves more than these to whoever asks (documents by privacy,
 * the reference, what a token stands for), which is no part of the type.
 */
const facing = ['runs', 'uploads', 'attachments', 'shares', 'questions', 'grant', 'providers', 'health']

export function appClient(contract) {
  const byName = new Map(contract.operations.map((operation) => [operation.name, operation]))
  const served = (name) => {
    const { kind, listeners = [], composedOf = [] } = byName.get(name)
    return kind === 'composed' ? composedOf.every(served) : kind === 'route' && listeners.includes('app')
  }
  const tree = {}
  for (const { name, kind } of contract.operations) {
    if ((kind !== 'route' && kind !== 'composed') || !facing.includes(name.split('.')[0]) || !served(name)) continue
    let at = tree
    const path = name.split('.')
    for (const part of path.slice(0, -1)) at = at[part] ??= {}
    at[path.at(-1)] = `Namespaces${path.map((part) => `['${part}']`).join('')}`
  }
  return `${header}import type { Namespaces } from './namespaces.js'

/** What the application listener serves to an application: a client with nothing else. */
export interface AppClient {
${rows(tree, '  ')}}
`
}

const rows = (tree, indent) =>
  Object.entries(tree)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, at]) =>
      typeof at === 'string'
        ? `${indent}readonly ${name}: ${at}\n`
        : `${indent}readonly ${name}: {\n${rows(at, `${indent}  `)}${indent}}\n`,
    )
    .join('')
