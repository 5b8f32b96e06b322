// The SDK's route table: what it must know of a route to call it.
import { header, routesOf } from './names.mjs'
import { fieldsOf } from './schemas.mjs'

/** Identifiers that the SDK checks before any request exists; refs, run ids and paths are the daemon's to judge. */
const checkedPrefixes = ['node', 'cron', 'job', 'req', 'tkt']
const checkedNames = ['provider', 'profile']
/** Where a profile is what the path names, it is called `name`. */
const isProfile = (operation, name) => operation.name.startsWith('profiles.') && name === 'name'

export function routeTable(contract) {
  const typed = routesOf(contract).filter(({ kind }) => kind === 'route')
  const rows = typed.map((operation) => `  '${operation.name}': ${row(operation)},\n`)
  return `${header}import type { Route } from '../route.js'

/** Every route with a typed method, by the method's name. */
export const routes = {
${rows.join('')}} as const satisfies Record<string, Route>

export type RouteName = keyof typeof routes
`
}

function row(operation) {
  const parts = [`method: '${operation.method}'`, `path: '${operation.path}'`]
  const checks = fieldsOf(operation.params).filter((field) => isChecked(operation, field))
  if (checks.length)
    parts.push(`checked: { ${checks.map(({ name, schema }) => `${name}: /${schema.pattern}/`).join(', ')} }`)
  return `{ ${parts.join(', ')} }`
}

function isChecked(operation, { name, schema }) {
  const prefix = /^\^([a-z]+)_/.exec(schema.pattern ?? '')?.[1]
  return checkedPrefixes.includes(prefix) || checkedNames.includes(name) || isProfile(operation, name)
}
