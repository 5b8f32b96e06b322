import type { ObjectRecord } from './object.record.js'
import { comment, typeNameOf, typesOfSchema } from './schema.types.js'

/** Names that the text uses itself. */
const taken = ['Events', 'Event', 'Record']

/** The events of an object as a module of TypeScript that depends on nothing. */
export const catalogTypes = ({ name, catalog, catalog_version }: ObjectRecord): string => {
  const names = new Set(taken)
  const claim = (wanted: string): string => {
    const base = typeNameOf(wanted)
    let free = base
    for (let n = 2; names.has(free); n += 1) free = `${base}${n}`
    names.add(free)
    return free
  }
  const payloads = catalog.map(({ event }) => claim(event))
  const declarations = catalog.flatMap(({ description, payload_schema }, at) => {
    const name = payloads[at] as string
    const { type, declarations: needed } = typesOfSchema(payload_schema, (wanted) => claim(`${name} ${wanted}`))
    return [`${comment(description)}export type ${name} = ${type}`, ...needed]
  })
  const byName = catalog.map(({ event }, at) => `  ${JSON.stringify(event)}: ${payloads[at]}\n`)
  return [
    `// Events of ${name}, version ${catalog_version} of its catalog`,
    ...declarations,
    `${comment('Payloads by the names of their events.')}export type Events = {\n${byName.join('')}}`,
    `${comment('An event with its payload: `event` tells which.')}export type Event = { [Name in keyof Events]: { event: Name; payload: Events[Name] } }[keyof Events]`,
    '',
  ].join('\n\n')
}
