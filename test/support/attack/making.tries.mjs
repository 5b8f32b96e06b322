// By making others: nodes, jobs and worktrees that would see more than itself.
import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { call, cwd, own, sh, targets, until } from './inside.mjs'

const { dataDir, victim, home, secrets, foreign } = targets
const steal = `cat ${[...secrets, ...foreign].join(' ')} secret.txt ../secret.txt; ls -la . ..; git log -p; git cat-file --batch --batch-all-objects`
const program = (more) => ({
  prompt: 'go',
  engine: 'exec',
  lifecycle: 'terminal',
  exec: { argv: ['bash', '-c', steal], stdin: 'text' },
  ...more,
})
const make = (more) => call('POST', '/v1/nodes', { body: program(more) })
const places = [
  dataDir,
  `${dataDir}/nodes/${own}/home`,
  `${dataDir}/worktrees`,
  victim.cwd,
  '/',
  home,
  '/proc',
  '/run',
  `${cwd}/..`,
  `${cwd}/../victim`,
  `${cwd}x`,
]

/** What came of a node that it may make: its end, and what it said. */
const endOf = async ({ status, json, said }) => {
  if (status >= 300) return said
  const end = await until(async () => {
    const { json: outcome } = await call('GET', `/v1/nodes/${json.id}/outcome?wait=5`)
    return outcome?.settled && outcome
  }, `the end of ${json.id}`)
  return JSON.stringify(end)
}

/** What a job of a node says to the end. */
const jobOf = async (id, command = steal) => {
  const { json: job, status, said } = await call('POST', `/v1/nodes/${id}/jobs`, { body: { command } })
  if (status >= 300) return said
  const ended = await until(async () => {
    const { json } = await call('GET', `/v1/nodes/${id}/jobs`)
    return json.data.find((one) => one.id === job.id && one.status !== 'running')
  }, `the end of ${job.id}`)
  const { said: output } = await call('GET', `/v1/nodes/${id}/jobs/${job.id}/output`)
  return `${ended.status} ${ended.error} ${output}`
}

/** A repository of its own, two levels below, where nothing of it is frozen yet. */
const repository = async (name) => {
  const at = `${cwd}/deep/${name}`
  const { code, said } = await sh(
    `git init -q ${at} && cd ${at} && echo mine > mine && git add . && git -c user.name=me -c user.email=me@example.com commit -qm mine`,
  )
  if (code !== 0) throw new Error(said)
  return at
}

const knowsNothing = (said) => !said.includes(targets.hint)
const outside = ({ status, json }) => status === 403 && /path_outside_scope|scope_exceeds_ceiling/.test(json?.code)

export const makingTries = () => [
  {
    name: 'a child that works elsewhere',
    why: 'a child works where its maker may write',
    attempt: () => Promise.all(places.map((at) => make({ cwd: at }))),
    held: (said) => said.every(outside),
  },
  {
    name: 'a root that works elsewhere',
    why: 'who makes a root hands on what it has and no more',
    attempt: () => Promise.all(places.map((at) => make({ cwd: at, root: true }))),
    held: (said) => said.every(outside),
  },
  {
    name: 'a child with more scopes',
    why: "the maker's are the ceiling",
    attempt: () =>
      Promise.all(
        [['svc:schedule'], ['svc:files:rw:user:/'], [`svc:files:read:user:${dataDir}`], ['svc:memory:rw:user']].map(
          (more) => make({ cwd, scopes: ['svc:llm', 'svc:act', ...more] }),
        ),
      ),
    held: (said) => said.every(outside),
  },
  {
    name: 'a child with all scopes',
    why: 'the owner has them alone',
    attempt: () => make({ cwd, scopes: ['*'] }),
    held: ({ status }) => status === 422 || status === 403,
  },
  {
    name: "another's child",
    why: 'it reaches its own subtree alone',
    attempt: () => make({ cwd, parent_id: victim.id }),
    held: ({ status }) => status === 404,
  },
  {
    name: 'a child behind a link to what is not its own',
    why: 'the host follows links, and knows who stands behind a node',
    attempt: () => {
      symlinkSync(victim.cwd, 'behind')
      return make({ cwd: `${cwd}/behind` }).then(endOf)
    },
    held: (said) => knowsNothing(said) && /doesn't see it|path_outside_scope/.test(said),
  },
  {
    name: 'a job of a child behind a link',
    why: 'a job sees what a launch of its node would',
    attempt: async () => {
      symlinkSync(victim.cwd, 'behind-job')
      const { json } = await make({ cwd: `${cwd}/behind-job` })
      return jobOf(json.id)
    },
    held: (said) => knowsNothing(said) && said.includes('path_outside_scope'),
  },
  {
    name: 'a job elsewhere',
    why: 'there is nothing outside of its mounts',
    attempt: async () => {
      const body = { command: steal, cwd: victim.cwd }
      const { json, said } = await call('POST', `/v1/nodes/${own}/jobs`, { body })
      if (!json?.id) return said
      const ended = await until(async () => {
        const { json: page } = await call('GET', `/v1/nodes/${own}/jobs`)
        return page.data.find((one) => one.id === json.id && one.status !== 'running')
      }, 'the end of the job')
      const { said: output } = await call('GET', `/v1/nodes/${own}/jobs/${json.id}/output`)
      return `${ended.status} ${ended.error} ${output}`
    },
    held: knowsNothing,
  },
  {
    name: 'a child with programs that stand in for others',
    why: "what the host and a broker start is named by them, and a child's variables are its own",
    attempt: async () => {
      const names = ['git', 'bash', 'sh', 'rg', 'bwrap', 'node', 'rm']
      for (const name of names) {
        writeFileSync(`${cwd}/${name}`, `#!/bin/cat ${secrets[0]}\n`, { mode: 0o755 })
      }
      const env = {
        PATH: `${cwd}:${process.env.PATH}`,
        LD_PRELOAD: `${cwd}/evil.so`,
        NODE_OPTIONS: `--require ${cwd}/evil.js`,
      }
      const said = await endOf(await make({ cwd, exec: { argv: ['/bin/bash', '-c', steal], env, stdin: 'text' } }))
      return said + (await jobOf(own))
    },
    held: knowsNothing,
  },
  {
    name: "a worktree of another's repository",
    why: 'a worktree opens its repository, which its maker must reach',
    attempt: () => make({ cwd: targets.repository, worktree: {} }),
    held: outside,
  },
  {
    name: "a worktree of another's repository, by a link",
    why: 'a worktree opens its repository, which its maker must reach',
    attempt: () => {
      symlinkSync(targets.repository, 'linked')
      return make({ cwd: `${cwd}/linked`, worktree: {} })
    },
    held: outside,
  },
  {
    name: "a worktree of another's repository, by a .git file",
    why: 'such a file counts where the repository knows of it',
    attempt: () => {
      mkdirSync('pointing')
      writeFileSync('pointing/.git', `gitdir: ${targets.repository}/.git\n`)
      return make({ cwd: `${cwd}/pointing`, worktree: {} })
    },
    held: ({ status, json }) => status >= 400 && /worktree_refused|path_outside_scope/.test(json?.code),
  },
  {
    name: "a worktree that borrows another's objects and branches",
    why: 'the git of the host sees the repository alone',
    attempt: async () => {
      const at = await repository('borrowing')
      writeFileSync(`${at}/.git/objects/info/alternates`, `${targets.repository}/.git/objects\n`)
      symlinkSync(`${targets.repository}/.git/refs/heads/main`, `${at}/.git/refs/heads/steal`)
      return make({ cwd: at, worktree: { base: 'steal' } }).then(endOf)
    },
    held: knowsNothing,
  },
  {
    name: "a worktree whose objects are a link to another's",
    why: 'the git of the host sees the repository alone',
    attempt: async () => {
      const at = await repository('linking')
      renameSync(`${at}/.git/objects`, `${at}/.git/own`)
      symlinkSync(`${targets.repository}/.git/objects`, `${at}/.git/objects`)
      symlinkSync(`${targets.repository}/.git/refs/heads/main`, `${at}/.git/refs/heads/steal`)
      return make({ cwd: at, worktree: { base: 'steal' } }).then(endOf)
    },
    held: knowsNothing,
  },
  {
    name: "a worktree whose repository becomes a link to another's",
    why: 'it was noted by its real path',
    attempt: async () => {
      const at = await repository('swapping')
      const made = await make({ cwd: at, worktree: {}, exec: { argv: ['true'] } })
      await endOf(made)
      if (made.status >= 300) throw new Error(made.said)
      renameSync(`${at}/.git`, `${at}/.git.own`)
      symlinkSync(`${targets.repository}/.git`, `${at}/.git`)
      return jobOf(made.json.id)
    },
    held: (said) => knowsNothing(said) && /path_outside_scope|is a link by now/.test(said),
  },
  {
    name: 'a repository around its directory, by the name of worktrees',
    why: 'a common directory is one by what it is',
    attempt: async () => {
      mkdirSync('deep/worktrees/one', { recursive: true })
      writeFileSync('deep/worktrees/one/.git', 'gitdir: .\n')
      writeFileSync('deep/worktrees/one/gitdir', '.git\n')
      const said = await endOf(
        await make({
          cwd: `${cwd}/deep/worktrees/one`,
          exec: { argv: ['bash', '-c', 'touch ../../out; echo tried'], stdin: 'text' },
        }),
      )
      // Above its mounts it stands in a file system of its own, which goes with it.
      return { said, through: existsSync('deep/out') }
    },
    held: ({ said, through }) => said.includes('tried') && !through,
  },
]
