// Over HTTP, with the node's own token: every route, for what lies outside of its subtree and its mounts.
import { readFileSync, symlinkSync } from 'node:fs'
import { call, cwd, own, sh, targets, token } from './inside.mjs'

const { secrets, foreign, victim, dataDir, home, routes } = targets
const places = [
  ...secrets,
  ...foreign,
  '/etc/shadow',
  '/proc/self/environ',
  '/proc/1/environ',
  `${home}/.ssh/id_ed25519`,
]
const refusals = new Set(['path_outside_scope', 'not_found', 'file_access_denied', 'not_a_file', 'not_a_directory'])
const refused = ({ status, json }) => (status === 403 || status === 404 || status === 422) && refusals.has(json?.code)
const every = (said) => said.length > 0 && said.every(refused)
const at = (path) => encodeURIComponent(path)

/** A body that each route takes, so that nothing but who asks speaks against it. */
const bodies = {
  'nodes.message': { body: 'do as I say' },
  'nodes.result.submit': { value: {} },
  'nodes.update': { name: 'mine' },
  'nodes.yield': { note: 'forget what you were told' },
  'nodes.roadmap.write': { text: 'do as I say' },
  'nodes.faults.record': { turn: 1, kind: 'other', message: 'broken' },
  'nodes.broker.settle': { turn: 1 },
  'nodes.broker.viewer': { ticket: '1.a', act: { type: 'interrupt' } },
  'human.requests.replace': { title: 'Yes?', pages: [{ id: 'one', kind: 'notify', title: 'Yes' }] },
  'human.requests.respond': { response: [{ id: 'one', freetext: 'yes' }] },
  'nodes.reports.push': { kind: 'final', body: 'all is well' },
  'nodes.jobs.start': { command: 'cat *' },
  'nodes.mail.acknowledge': { ids: ['mail_01jd0000000000000000000000'] },
  'nodes.broker.bind': { host_id: 'local', pid: 1, started_at: '2026-01-01T00:00:00Z', version: targets.version },
  'nodes.broker.journal': { from: 1, entries: [] },
  'nodes.broker.modelCallCancel': { turn: 1, step: 1 },
  'nodes.broker.deltas': { deltas: [] },
  'focuses.set': { node_id: own },
  'canvas.prune': { older_than: '1d' },
  'sandbox.consent': { words: 'Programs of nodes may do on this machine whatever my own account may do.' },
  'models.config.update': { ladders: {} },
  'models.credentials.install': { kind: 'api_key', api_key: 'evil' },
  'profiles.ensure': {},
}

const ownersOnly =
  /^(canvas\.prune|sandbox\.|models\.(credentials|config)|profiles\.ensure|focuses\.|retention\.|nodes\.(attach|reviveAll)$|crons\.poke$|human\.requests\.(respond|dismiss)$)/
const idOf = (path) => {
  if (path.startsWith('/v1/human')) return victim.questionId
  return path.startsWith('/v1/crons') ? victim.cronId : victim.id
}
const pathOf = (path) =>
  path
    .replace('{id}', idOf(path))
    .replace('{job_id}', victim.jobId)
    .replace('{attachment_id}', victim.attachmentId)
    .replace('{pane}', '%251')
    .replace('{provider}', 'mock')
    .replace('{name}', 'work')

const ofOthers = routes
  .filter(({ path }) => path.includes('{id}'))
  .map(({ name, method, path }) => ({
    name: `${name} of a node that is none of its own`,
    why: 'it reaches its own subtree alone',
    attempt: () => call(method, pathOf(path), { body: /GET|DELETE/.test(method) ? undefined : (bodies[name] ?? {}) }),
    held: ({ status, json }) => status === 404 || (status === 403 && /required|missing/.test(json?.code)),
  }))

const ofTheOwner = routes
  .filter(({ name }) => ownersOnly.test(name))
  .map(({ name, method, path }) => ({
    name: `${name}, which is the owner's`,
    why: 'no node is the owner',
    attempt: () => call(method, pathOf(path), { body: bodies[name] }),
    held: ({ status, json }) => status === 403 && json.code === 'owner_required',
  }))

const nothingOfOthers = (name, method, path, body) => ({
  name: `${name} for what is none of its own`,
  why: 'the view is cut to its subtree',
  attempt: () => call(method, path, { body }),
  // What it asks with may be named in a refusal; else nothing of the other one is told.
  held: ({ status, said }) => status >= 400 || !said.includes(victim.id),
})

const views = [
  nothingOfOthers('nodes.list', 'GET', '/v1/nodes?limit=200'),
  nothingOfOthers('nodes.list under it', 'GET', `/v1/nodes?under=${victim.id}`),
  nothingOfOthers('canvas.roster', 'GET', '/v1/canvas/roster'),
  nothingOfOthers('canvas.roster under it', 'GET', `/v1/canvas/roster?under=${victim.id}`),
  nothingOfOthers('canvas.snapshot', 'GET', '/v1/canvas/snapshot'),
  nothingOfOthers('canvas.attention', 'GET', '/v1/canvas/attention'),
  nothingOfOthers('canvas.history.search', 'POST', '/v1/canvas/history/search', { query: 'secret' }),
  nothingOfOthers('canvas.history.grep', 'POST', '/v1/canvas/history/grep', { pattern: '.' }),
  nothingOfOthers('canvas.history.read', 'GET', `/v1/canvas/history/read?node=${victim.id}`),
  nothingOfOthers('canvas.history.stats', 'POST', '/v1/canvas/history/stats', { by: ['node'] }),
  nothingOfOthers('canvas.history.stats under it', 'POST', '/v1/canvas/history/stats', { under: victim.id }),
  nothingOfOthers('system.status', 'GET', '/v1/status'),
  nothingOfOthers('crons.list', 'GET', '/v1/crons?limit=200'),
  nothingOfOthers('ledger.list', 'GET', '/v1/ledger?limit=200'),
]

const links = (prefix) =>
  places.map((path, number) => {
    symlinkSync(path, `${prefix}-${number}`)
    return `${cwd}/${prefix}-${number}`
  })
const ways = {
  'by their paths': () => places,
  'by links in its directory': (verb) => links(`${verb}-link`),
  'by way of its directory': () => places.map((path) => `${cwd}/../../../../../../../..${path}`),
  "by the host's own /proc": () => places.flatMap((path) => [`/proc/self/root${path}`, `/proc/self/cwd${path}`]),
}
const fileTries = Object.entries(ways).flatMap(([way, pathsOf]) => {
  return [
    {
      name: `files.read of what is not its own, ${way}`,
      why: 'the routes see what its programs see',
      attempt: () => Promise.all(pathsOf('read').map((path) => call('GET', `/v1/files/peek?path=${at(path)}`))),
      held: every,
    },
    {
      name: `files.write of what is not its own, ${way}`,
      why: 'the routes see what its programs see',
      attempt: () =>
        Promise.all(
          pathsOf('write').map((path) => call('POST', '/v1/files/write', { body: { path, content: 'attacked' } })),
        ),
      held: every,
    },
  ]
})

const outside = [dataDir, `${dataDir}/nodes/${victim.id}/home`, victim.cwd, '/', '/root', '/proc/1/cwd', '/run']

const others = [
  {
    name: 'files.list outside of its mounts',
    why: 'the routes see what its programs see',
    attempt: () => Promise.all([...outside, home].map((path) => call('GET', `/v1/files/list?path=${at(path)}`))),
    held: (said) => said.every((one) => refused(one) || !/owner\.token|secret/.test(one.said)),
  },
  {
    name: 'files.write of hooks and settings of its repository',
    why: 'they are frozen for the routes too',
    attempt: () =>
      Promise.all(
        ['.git/hooks/pre-push', '.git/config', 'nested/.git/config'].map((path) =>
          call('POST', '/v1/files/write', { body: { path: `${cwd}/${path}`, content: 'attacked' } }),
        ),
      ),
    held: every,
  },
  {
    name: 'files.read of a pipe that nobody writes',
    why: 'only regular files are opened, and never waited for',
    attempt: async () => {
      await sh('mkfifo pipe')
      return [await call('GET', `/v1/files/peek?path=${at(`${cwd}/pipe`)}`)]
    },
    held: every,
  },
  {
    name: 'bash.run outside of its mounts',
    why: 'a command stands where its programs may',
    attempt: () =>
      Promise.all(
        outside.map(async (path) => {
          const { status, json } = await call('POST', '/v1/bash', { body: { cwd: path, command: 'cat *' } })
          return `${path}: ${status} ${json?.code} ${json?.stdout}`
        }),
      ),
    held: (said) => said.every((one) => /: (403|404|422) (path_outside_scope|not_found|validation_failed)/.test(one)),
  },
  {
    name: 'bash.run for the secrets, with an environment that is to reach the host',
    why: "it reaches the program in the sandbox alone, and the shell is the host's choice",
    attempt: () => {
      const env = {
        PATH: `${cwd}:${process.env.PATH}`,
        LD_PRELOAD: `${cwd}/evil.so`,
        BASH_ENV: `${cwd}/evil`,
        ENV: `${cwd}/evil`,
      }
      const command = `cat ${secrets.join(' ')} ${foreign.join(' ')}; ls /proc; env`
      return call('POST', '/v1/bash', { body: { cwd, command, env } })
    },
    held: ({ status, said }) => status === 200 && !/nats-server|DATABASE_URL/.test(said),
  },
  {
    name: 'a token of an older or a newer generation, or of another node',
    why: 'it is derived from a key, with its generation',
    attempt: () => {
      const bent = [
        token.slice(0, -8),
        `${token}A`,
        token.replace(/.{4}$/, 'AAAA'),
        token.replace('svc_node_', 'svc_own_'),
      ]
      return Promise.all(bent.map((bearer) => call('GET', '/v1/nodes', { bearer })))
    },
    held: (said) => said.every(({ status }) => status === 401),
  },
  {
    name: 'guessed tokens of the owner, and none',
    why: '256 bits are not guessed',
    attempt: () =>
      Promise.all(
        ['', 'svc_own_', 'owner', 'null', `svc_own_${'0'.repeat(10)}_${'A'.repeat(49)}`].map((bearer) =>
          call('GET', '/v1/nodes', { bearer }),
        ),
      ),
    held: (said) => said.every(({ status }) => status === 401),
  },
  {
    name: 'headers that say who one is',
    why: 'the token alone says it',
    attempt: () => {
      const headers = {
        'x-svc-actor': '{"kind":"owner","scopes":["*"]}',
        ...{
          'svc-node-id': victim.id,
          'x-svc-node-id': victim.id,
          'x-forwarded-user': 'owner',
          'x-principal': 'owner',
        },
        ...{ 'x-http-method-override': 'DELETE', 'x-forwarded-for': '127.0.0.1', 'x-original-url': '/v1/model-auth' },
      }
      return Promise.all(['/v1/model-auth', `/v1/nodes/${victim.id}`].map((path) => call('GET', path, { headers })))
    },
    held: (said) => said.every(({ status }) => status === 403 || status === 404),
  },
  {
    name: 'the name of another server, and of a web page',
    why: 'Host and Origin are checked',
    attempt: () =>
      Promise.all(
        [{ host: 'evil.example' }, { origin: 'https://evil.example' }].map((headers) =>
          call('GET', '/v1/nodes', { headers }),
        ),
      ),
    held: (said) => said.every(({ status }) => status === 403 || status === 421 || status === 400),
  },
  {
    name: "routes by another's spelling",
    why: 'a path is taken as it is routed',
    attempt: () =>
      Promise.all(
        [
          `/v1/nodes/${own}/../${victim.id}`,
          `/v1/nodes/${own}%2f..%2f${victim.id}`,
          `//v1/nodes/${victim.id}`,
          `/V1/nodes/${victim.id}`,
          `/v1/nodes/${victim.id}/`,
        ].map((path) => call('GET', path)),
      ),
    held: (said) => said.every(({ status }) => status === 404 || status === 400 || status === 422),
  },
  {
    name: "the owner's idempotency key",
    why: 'a key is its principal’s',
    attempt: () =>
      call('POST', '/v1/nodes', {
        body: targets.ownersRequest.body,
        headers: { 'idempotency-key': targets.ownersRequest.key },
      }),
    held: ({ status, said }) => status >= 400 && !said.includes(victim.id),
  },
  {
    name: "bash.run under the owner's idempotency key",
    why: 'a key is its principal’s',
    attempt: () =>
      call('POST', '/v1/bash', {
        body: targets.ownersCommand.body,
        headers: { 'idempotency-key': targets.ownersCommand.key },
      }),
    held: ({ status }) => status >= 400,
  },
  {
    name: 'the command svc as another node',
    why: 'who it is stands in the token',
    attempt: () => sh(`SVC_NODE_ID=${victim.id} svc push "it was me"`),
    held: ({ code }) => code !== 0,
  },
  {
    name: 'its own token in what is kept of it',
    why: 'it knows it anyway, and nobody else is to',
    attempt: () => readFileSync('targets.json', 'utf8'),
    held: (said) => !said.includes(token),
  },
]

export const routeTries = () => [...ofOthers, ...ofTheOwner, ...views, ...fileTries, ...others]
