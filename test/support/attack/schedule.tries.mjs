// By what is done later: schedules that would reach, run or read more than the node that arms them.
import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { call, cwd, own, targets, until } from './inside.mjs'

const { dataDir, victim, home, secrets, foreign, hint } = targets
const steal = `cat ${[...secrets, ...foreign].join(' ')} secret.txt ../secret.txt; ls -la . ..; env`
const schedule = { every: 3600 }
const arm = (action, more) => call('POST', '/v1/crons', { body: { schedule, action, ...more } })
const bash = (at) => ({ type: 'bash', cwd: at, command: steal })
const node = (more) => ({
  ...{ type: 'create_node', prompt: 'go', engine: 'exec', lifecycle: 'terminal', cwd },
  ...{ exec: { argv: ['bash', '-c', steal], stdin: 'text' } },
  ...more,
})
const message = (to) => ({ type: 'message', node_id: to, body: 'do as I say' })
const places = [dataDir, victim.cwd, '/', home, '/proc', `${cwd}/..`, `${cwd}/../victim`, `${cwd}x`]

const knowsNothing = (said) => !said.includes(hint)
const hidden = ({ status, json, said }) => status === 404 && json?.code === 'not_found' && knowsNothing(said)
const outside = ({ status, json }) => status === 403 && /path_outside_scope|scope_exceeds_ceiling/.test(json?.code)

/** What came of firing it now: its line, and what its node said. */
const fired = async ({ json, status, said }) => {
  if (status >= 300) return said
  const run = await call('POST', `/v1/crons/${json.id}/run`)
  if (run.status >= 300) return run.said
  const line = await until(async () => {
    const page = await call('GET', `/v1/crons/${json.id}/fires`)
    return page.json.data.find(({ ended_at }) => ended_at)
  }, `the end of a firing of ${json.id}`)
  if (!line.node_id) return JSON.stringify(line)
  const outcome = await call('GET', `/v1/nodes/${line.node_id}/outcome`)
  return JSON.stringify(line) + outcome.said
}

/** A directory of its own that becomes a link to the victim's once a schedule names it. */
const swapped = async (name, action) => {
  mkdirSync(`${cwd}/${name}`)
  const armed = await arm(action(`${cwd}/${name}`))
  renameSync(`${cwd}/${name}`, `${cwd}/${name}.own`)
  symlinkSync(victim.cwd, `${cwd}/${name}`)
  return fired(armed)
}

export const scheduleTries = () => [
  {
    name: 'a schedule for another, at another, or beneath another',
    why: 'it reaches its own subtree alone, now and later',
    attempt: () =>
      Promise.all([
        arm(message(victim.id)),
        arm(message(own), { owner_node_id: victim.id }),
        arm(node({ parent_id: victim.id })),
      ]),
    held: (said) => said.every(hidden),
  },
  {
    name: 'a schedule whose node is elsewhere',
    why: 'what a schedule makes works where its maker may write',
    attempt: () => Promise.all(places.map((at) => arm(node({ cwd: at })))),
    held: (said) => said.every(outside),
  },
  {
    name: 'a schedule whose command is elsewhere',
    why: 'it sees what a command of the node would see, where the same path may be another place',
    attempt: () => Promise.all(places.map((at) => arm(bash(at)).then(fired))),
    held: (said) => said.every(knowsNothing),
  },
  {
    name: 'a schedule whose node may do more',
    why: "the maker's scopes are the ceiling",
    attempt: () =>
      Promise.all([['*'], ['svc:files:rw:user:/'], ['svc:memory:rw:user']].map((scopes) => arm(node({ scopes })))),
    held: (said) => said.every(({ status }) => status === 403 || status === 422),
  },
  {
    name: 'a command of a schedule',
    why: 'it sees what a command of the node would see',
    attempt: () => arm(bash(cwd)).then(fired),
    held: (said) => knowsNothing(said) && !/DATABASE_URL|NATS_URL|REDIS_URL/.test(said),
  },
  {
    name: 'a node of a schedule',
    why: 'it sees what a child of the node would see',
    attempt: () => arm(node()).then(fired),
    held: knowsNothing,
  },
  {
    name: 'a command in a directory that has become a link',
    why: 'where it runs is looked at when it runs',
    attempt: () => swapped('swapped-command', bash),
    held: (said) => knowsNothing(said) && said.includes('failed'),
  },
  {
    name: 'a node in a directory that has become a link',
    why: 'where it runs is looked at when it runs',
    attempt: () => swapped('swapped-node', (at) => node({ cwd: at })),
    held: (said) => knowsNothing(said) && said.includes('failed'),
  },
  {
    name: 'what others have planned, and what became of it',
    why: 'the view is cut to its subtree',
    attempt: () =>
      Promise.all(
        [
          '/v1/crons?limit=200',
          `/v1/crons?node_id=${victim.id}`,
          '/v1/ledger?limit=200',
          `/v1/ledger?node_id=${victim.id}`,
          `/v1/ledger?cron_id=${victim.cronId}`,
          `/v1/crons/${victim.cronId}?node_id=${victim.id}`,
        ].map((path) => call('GET', path)),
      ),
    // what it asks with may be named in a refusal
    held: (said) =>
      said.every(({ status, said: text }) => knowsNothing(text) && (status === 404 || !text.includes(victim.cronId))),
  },
]
