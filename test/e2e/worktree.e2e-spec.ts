import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { TestRepository, writeIn } from '#apps/host/src/worktree/repository.fixture.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Node } from '#sdk/index.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
/** Of the person: whose name stands in their settings of git. */
let home: string
let repository: TestRepository
let before: string

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'svc-home-'))
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Grace Hopper\n\temail = grace@example.com\n')
  daemon = await TestDaemon.start({ env: { HOME: home } })
})
afterAll(async () => {
  await daemon.stop()
  rmSync(home, { recursive: true, force: true })
})
beforeEach(() => {
  repository = new TestRepository('my project')
  before = repository.mine()
})
afterEach(() => {
  // whatever was done: the checkout of the person is as it was
  expect(repository.mine()).toBe(before)
  repository.remove()
})

const program = (script: string, more: object = {}) => ({
  prompt: 'go',
  cwd: repository.root,
  engine: 'exec' as const,
  lifecycle: 'terminal' as const,
  worktree: { branch: 'svc/work' },
  exec: { argv: ['sh', '-c', script] },
  ...more,
})

const run = async (script: string, more: object = {}): Promise<Node> => {
  const client = daemon.client()
  const { id } = await client.nodes.create(program(script, more))
  const outcome = await client.nodes.waitForOutcome(id)
  expect(outcome).toMatchObject({ status: 'done' })
  return client.nodes.retrieve(id)
}

/** Everything that decides and everything that runs git. */
const kill = (): void => {
  daemon.processes.kill('daemon')
  daemon.processes.kill('host')
}

const commits = 'echo two > src/a.txt && git commit -qam work && git log -1 --format=%an'

describe('a node in a worktree', () => {
  it('commits from inside its sandbox; close keeps the branch and removes the tree', async () => {
    const node = await run(commits, {
      cwd: join(repository.root, 'src'),
      exec: { argv: ['sh', '-c', `cd .. && ${commits}`] },
    })
    const tree = node.worktree?.path ?? ''
    expect(node).toMatchObject({ cwd: join(tree, 'src'), worktree: { state: 'open', branch: 'svc/work' } })
    expect(repository.git('show', 'svc/work:src/a.txt')).toBe('two')

    const shown = await svc(daemon, ['node', 'show', node.id])
    expect(shown.stdout).toMatch(/worktree +open: svc\/work, from [0-9a-f]{12} of .*my project/)
    const closed = await svc(daemon, ['node', 'worktree-close', node.id])
    expect(closed).toMatchObject({ code: 0 })
    expect(closed.stdout).toBe(`${node.id}  closed  svc/work at ${repository.git('rev-parse', 'svc/work')}\n`)
    expect(existsSync(tree)).toBe(false)
    expect(repository.git('worktree', 'list').split('\n')).toHaveLength(1)
    expect(repository.git('log', '-1', '--format=%an <%ae> %s', 'svc/work')).toBe(
      'Grace Hopper <grace@example.com> work',
    )
  })

  it('that is dirty is refused with the names, and closed by force', async () => {
    const node = await run('echo x > "new file.txt"')
    const refused = await svc(daemon, ['node', 'worktree-close', node.id])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain('untracked  new file.txt')
    expect(existsSync(join(node.worktree?.path ?? '', 'new file.txt'))).toBe(true)
    expect(await svc(daemon, ['node', 'worktree-close', node.id, '--force'])).toMatchObject({ code: 0 })
    expect(existsSync(node.worktree?.path ?? '/')).toBe(false)
    expect(repository.branches()).toEqual(['main', 'svc/work'])
  })

  it('is abandoned with its branch, whose commit is told', async () => {
    const node = await run(commits)
    const commit = repository.git('rev-parse', 'svc/work')
    const abandoned = await daemon.client().nodes.worktree.abandon(node.id)
    expect(abandoned.worktree).toMatchObject({ state: 'abandoned', commit })
    expect(repository.branches()).toEqual(['main'])
    expect(existsSync(node.worktree?.path ?? '/')).toBe(false)
    repository.git('cat-file', '-e', commit)
  })

  it('runs nothing of what its program planted when it is closed, and can plant no hook for the person', async () => {
    const evidence = join(daemon.workDir, 'evidence')
    const node = await run(
      [
        `printf '#!/bin/sh\\necho run >> ${evidence}\\ncat\\n' > bait.sh; chmod +x bait.sh; bait=$PWD/bait.sh`,
        'common=$(git rev-parse --git-common-dir)',
        'cp bait.sh "$common/hooks/post-checkout" 2>/dev/null && echo planted',
        'git config core.fsmonitor "$bait" 2>/dev/null && echo configured',
        'echo x > "$common/index" 2>/dev/null && echo touched',
        'git init -q evil && git -C evil config core.fsmonitor "$bait"',
        `printf '* filter=evil\\n' > .gitattributes`,
        `rm -f .git; printf 'gitdir: evil/.git\\n' > .git 2>/dev/null`,
        'exit 0',
      ].join('; '),
    )
    const reports = await daemon.client().nodes.reports.list(node.id)
    expect(reports.data.at(-1)?.body ?? '').not.toMatch(/planted|configured|touched/)
    await expect(daemon.client().nodes.worktree.close(node.id, {})).rejects.toMatchObject({ code: 'worktree_dirty' })
    await daemon.client().nodes.worktree.abandon(node.id)
    expect(existsSync(evidence)).toBe(false)
    expect(repository.branches()).toEqual(['main'])
  })
})

describe('a daemon that is killed', () => {
  it('while a tree is made makes it at its next start, and launches the node', async () => {
    for (let file = 0; file < 2000; file += 1) writeIn(repository.root, `many/${file}`, `${file}\n`)
    repository.commit('many files')
    before = repository.mine()
    const { id } = await daemon.client().nodes.create(program('git status --porcelain; git log -1 --format=%s'))
    await waitFor(() => repository.branches().includes('svc/work'), { what: 'the branch', interval: 1 })
    kill()
    await daemon.startAgain()
    const outcome = await daemon.client().nodes.waitForOutcome(id)
    expect(outcome).toMatchObject({ status: 'done', final_report: { body: 'many files' } })
    expect((await daemon.client().nodes.retrieve(id)).worktree).toMatchObject({ state: 'open' })
  })

  it.each(['close', 'abandon'] as const)('in the middle of %s ends it at its next start', async (what) => {
    const node = await run(commits)
    const asked =
      what === 'close'
        ? daemon.client().nodes.worktree.close(node.id, {})
        : daemon.client().nodes.worktree.abandon(node.id)
    const answered = asked.catch(() => undefined)
    await waitFor(
      async () => {
        const [row] = await daemon.rows<{ state: string }>(
          "SELECT worktree ->> 'state' AS state FROM canvas.nodes WHERE id = $1",
          [node.id],
        )
        return row?.state !== 'open'
      },
      { what: 'the decision', interval: 1 },
    )
    kill()
    await answered
    await daemon.startAgain()
    const state = what === 'close' ? 'closed' : 'abandoned'
    await waitFor(async () => (await daemon.client().nodes.retrieve(node.id)).worktree?.state === state, {
      timeout: 30_000,
      what: `the worktree to be ${state}`,
    })
    expect(existsSync(node.worktree?.path ?? '/')).toBe(false)
    expect(repository.branches()).toEqual(what === 'close' ? ['main', 'svc/work'] : ['main'])
  })
})
