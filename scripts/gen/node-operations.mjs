// The page that tells what each operation does to a node, from the tables that the service runs (`node.machine.ts`,
// `node.rules.ts`) and that its generated test holds the daemon to (`node.effects.ts`).
import { loadSource } from './load-source.mjs'

const folder = 'apps/lifecycle/src/node'

/** `docs/states/node-operations.md`. */
export async function nodeOperationsFile({ contract }) {
  const [{ nodeMachine }, { nodeRules }, { nodeEffects, nodeSituations }] = await Promise.all(
    ['machine', 'rules', 'effects'].map((role) => loadSource(`${folder}/node.${role}.ts`)),
  )
  const tables = { machine: nodeMachine, rules: nodeRules, effects: nodeEffects, situations: nodeSituations }
  return { 'docs/states/node-operations.md': page(tables, contract) }
}

function page(tables, contract) {
  const { machine, effects, situations } = tables
  const acts = Object.entries(effects)
  return `<!-- Made from ${folder}/node.machine.ts, node.rules.ts and node.effects.ts by \`npm run gen\`. Do not edit. -->

# What each operation does to a node

The machine moves a node's \`status\`; its \`intent\` says why it last stopped. What a status has no arrow for can't happen.

\`\`\`mermaid
${machine.diagram()}
\`\`\`

${table(
  ['Event', '`intent` after it', 'Operations that cause it at once'],
  machine.events.map((event) => [code(event), intentAfter(machine.table[event]), causes(event, acts)]),
)}

What has no operation comes from the daemon: \`crash\` when a node is given up, \`release\` when its turn ends and it has
nothing more to do, \`revive\` also when mail, a clock or a new try brings it back, \`finalize\` also at the end of a turn that
ends its work.

## Operation and status

| Cell | Answer of the API |
|---|---|
| — | taken; status and intent stay as they are |
| an event | taken; the node moves at once along that arrow, and takes its intent (two events: one after the other) |
| 409 | \`illegal_transition\`, with this status as \`state\` and the operation as \`event\`; nothing is changed |
| another code | that code; nothing is changed |
| (…) | what differs in a situation of that status; situations stand at the end |

${table(
  ['Operation', ...machine.states.map(code)],
  acts.map(([act]) => [code(act), ...machine.states.map((status) => cell(act, status, tables))]),
)}

\`final\` is a report of the kind \`final\`: its refusals name \`report\` as the \`event\`.

## Routes, events and effects besides

${table(
  ['Operation', 'Route', 'Event that tells of it', 'Besides'],
  acts.map(([act, { route, tells, says }]) => [
    code(act),
    code(`${contract[route].method} ${contract[route].path}`),
    told(tells),
    says,
  ]),
)}

## Refused for something else than the status

With \`illegal_transition\` too: \`state\` is then not the status, but what stands in the way.

${table(['`state`', 'When', 'Operations'], refusals(acts))}

## Situations

${table(
  ['Situation', 'Status', 'What it is'],
  Object.entries(situations).map(([name, { status, says }]) => [code(name), code(status), says]),
)}
`
}

/** What is answered in a status, and in brackets where one of its situations differs. */
function cell(act, status, { rules, effects, situations }) {
  const { rule = act, moves = {}, answers = {} } = effects[act]
  if (answers[status]) return code(answers[status])
  if (!rules[rule].includes(status)) return '409'
  const usual = arrows(moves[status])
  const others = Object.keys(situations)
    .filter((name) => situations[name].status === status && name !== status && name in moves)
    .map((name) => [code(name), arrows(moves[name])])
    .filter(([, differs]) => differs !== usual)
  return others.length ? `${usual} (${others.map((pair) => pair.join(': ')).join(', ')})` : usual
}

function arrows(events = []) {
  return events.length ? events.map(code).join(', ') : '—'
}

function causes(event, acts) {
  const by = acts.filter(([, { moves = {} }]) => Object.values(moves).some((events) => events.includes(event)))
  return by.length ? by.map(([act]) => code(act)).join(', ') : '—'
}

/** One row a reason, with the operations that know it. */
function refusals(acts) {
  const known = acts.flatMap(([act, { refuses = {} }]) =>
    Object.entries(refuses).map(([state, when]) => ({ act, row: `${code(state)} | ${when}` })),
  )
  const rows = [...new Set(known.map(({ row }) => row))]
  return rows.map((row) => [
    row,
    known
      .filter((one) => one.row === row)
      .map(({ act }) => code(act))
      .join(', '),
  ])
}

function intentAfter({ set }) {
  if (!set || !('intent' in set)) return 'as it was'
  return set.intent === null ? 'none' : code(set.intent)
}

function told(tells) {
  if (tells === undefined) return '—'
  if (typeof tells === 'string') return code(tells)
  const names = [...new Set(Object.values(tells))]
  return names
    .map(
      (name) =>
        `${code(name)} (${Object.keys(tells)
          .filter((key) => tells[key] === name)
          .join(', ')})`,
    )
    .join(', ')
}

function table(head, rows) {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function code(text) {
  return `\`${text}\``
}
