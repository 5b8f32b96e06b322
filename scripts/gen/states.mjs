// One page a state machine: a picture and a table, from the table that the service runs.
import { listFiles } from '../files.mjs'
import { loadSource } from './load-source.mjs'

/** `docs/states/<noun>.md` for each `apps/<service>/src/<feature>/<noun>.machine.ts`. */
export async function machineFiles() {
  const files = {}
  for (const path of listFiles(['apps'], (name) => name.endsWith('.machine.ts'))) {
    const noun = path.split('/').at(-1).replace('.machine.ts', '')
    const found = Object.values(await loadSource(path)).find((value) => typeof value?.diagram === 'function')
    if (!found) throw new Error(`${path} exports no machine`)
    files[`docs/states/${noun}.md`] = page(path, found)
  }
  return files
}

const further = { node: ' What each operation answers and does: [node-operations.md](node-operations.md).' }

function page(path, machine) {
  const { name, states, events, initial, table } = machine
  const rows = states.map(
    (state) => `| ${state} | ${events.map((event) => machine.next(state, event) ?? '').join(' | ')} |`,
  )
  const sources = events.map((event) => {
    const { from, to } = table[event]
    return `| ${event} | ${from === 'any' ? 'any state' : from.join(', ')} | ${to === 'kept' ? 'stays as it is' : to} |`
  })
  return `<!-- Made from ${path} by \`npm run gen\`. Do not edit. -->

# States of ${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}

It begins \`${initial}\`. What a state has no arrow for is refused with \`illegal_transition\`.${further[name] ?? ''}

\`\`\`mermaid
${machine.diagram()}
\`\`\`

| Event | From | To |
|---|---|---|
${sources.join('\n')}

## Every state and event

| State | ${events.join(' | ')} |
|---|${'---|'.repeat(events.length)}
${rows.join('\n')}
`
}
