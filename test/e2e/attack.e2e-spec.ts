import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { describeWhere } from '#common/testing/describe-with-engine.js'
import { MockModel } from '#common/testing/mock-model.js'
import { AttackStage, bubblewrapWorks, listenersOf, type Try } from '../support/attack/attack.stage.js'
import { runningWith } from '../support/daemon-processes.js'

/** Files below a directory with what they hold; no link is followed. */
const contentOf = (directory: string): Record<string, string> =>
  Object.assign(
    {},
    ...readdirSync(directory, { withFileTypes: true }).map((entry) => {
      const path = join(directory, entry.name)
      if (entry.isDirectory()) return contentOf(path)
      return entry.isFile() ? { [path]: readFileSync(path, 'latin1') } : {}
    }),
  )

describeWhere(bubblewrapWorks(), 'bubblewrap', 'a node that attacks', () => {
  let stage: AttackStage
  let mock: MockModel
  let cwd: string
  let tries: Try[]
  let before: unknown
  let pids: unknown

  /** What has to be as it was. */
  const untouched = () => [
    contentOf(join(stage.victimDir)),
    contentOf(stage.repository.gitDir),
    contentOf(join(stage.dataDir, 'keys')),
    contentOf(join(stage.dataDir, 'secrets')),
    contentOf(join(stage.home, '.ssh')),
    ...['.bashrc', '.profile', '.zshrc', '.gitconfig', '.netrc'].map((name) => contentAt(join(stage.home, name))),
    ...['', 'nested'].map((name) => contentOf(join(cwd, name, '.git/hooks'))),
    ...['', 'nested'].map((name) => contentAt(join(cwd, name, '.git/config'))),
  ]
  const contentAt = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : 'missing')
  const servers = () =>
    (['daemon', 'host', 'nats', 'redis', 'postgres'] as const).map((name) => stage.daemon.processes.find(name))
  const brokenOf = (all: readonly Try[]): string[] =>
    all
      .filter(({ held }) => !held)
      .map(({ group, name, why, said }) => `${group}: ${name} (${why}): ${said.slice(0, 1500)}`)

  beforeAll(async () => {
    ;[stage, mock] = await Promise.all([AttackStage.start(), MockModel.start()])
    await stage.daemon.useModel(mock)
    cwd = stage.attackerDir('attacker')
    before = untouched()
    pids = servers()
    tries = await stage.attack(cwd, [
      'data',
      'system',
      'socket',
      'repository',
      'home',
      'route',
      'care',
      'making',
      'process',
    ])
  }, 180_000)
  afterAll(() => Promise.all([stage.stop(), mock.stop()]))

  it('has made its tries, each another one', () => {
    expect(tries.length).toBeGreaterThanOrEqual(150)
    expect(new Set(tries.map(({ group, name }) => `${group}: ${name}`)).size).toBe(tries.length)
  })

  it.each([
    ['data', "gets at nothing of the daemon's directory and of other nodes"],
    ['system', 'gets no privilege, no device and out of no namespace'],
    ['socket', 'speaks to no server of the daemon but the one that asks for its token'],
    ['repository', 'changes nothing that git would run for the person'],
    ['home', 'changes nothing that the person runs, and reads no credential of theirs'],
    ['route', 'is given by no route more than its mounts and its subtree'],
    ['care', 'looks after nobody but itself, and answers no question'],
    ['making', 'makes nobody who sees more than itself'],
    ['process', 'sees no process of others, and ends none'],
  ])('%s: %s', (group) => {
    expect(brokenOf(tries.filter((one) => one.group === group))).toEqual([])
  })

  it('reaches, runs and reads no more later than now, by schedules', async () => {
    const found = await stage.attack(stage.attackerDir('planner'), ['schedule'], ['svc:schedule'])
    expect(brokenOf(found)).toEqual([])
    expect(found.length).toBeGreaterThanOrEqual(8)
  })

  // Done when: "a broker can be shown unable to write the canvas or to speak on the bus"
  it('has no way to the database and none onto the bus, which its broker has not either', () => {
    const ways = tries.filter(({ group, name }) => group === 'socket' && /database|the bus/.test(name))
    expect(ways.length).toBeGreaterThanOrEqual(5)
    expect(brokenOf(ways)).toEqual([])
  })

  it('has a home that is the person’s itself as its directory, and gets no further', async () => {
    stage.arm(stage.home)
    const found = await stage.attack(stage.home, ['data', 'home'])
    expect(brokenOf(found)).toEqual([])
    expect(found.length).toBeGreaterThan(15)
  })

  it('finds nothing by the file tools of the loop', async () => {
    const directory = join(stage.work, 'loop')
    mkdirSync(directory)
    const secret = join(stage.victimDir, 'secret.txt')
    symlinkSync(secret, join(directory, 'link'))
    symlinkSync(stage.dataDir, join(directory, 'data'))
    const paths = [secret, 'link', 'data/owner.token', '../victim/secret.txt', join(stage.dataDir, 'owner.token')]
    const calls = [
      ...paths.flatMap((path) => [
        { name: 'read', input: { path } },
        { name: 'write', input: { path, content: 'attacked' } },
        { name: 'edit', input: { path, edits: [{ old_text: 'svc', new_text: 'attacked' }] } },
        { name: 'search', input: { pattern: '.', path, hidden: true, ignored: true } },
      ]),
      ...[stage.dataDir, 'data', stage.victimDir, '..', '/proc/1'].flatMap((path) => [
        { name: 'list', input: { path, depth: 3 } },
        { name: 'glob', input: { pattern: '**/*', path, hidden: true } },
      ]),
      { name: 'read', input: { path: '/proc/self/environ' } },
      { name: 'bash', input: { command: `cat ${paths.join(' ')} /proc/*/environ` } },
      { name: 'svc', input: { command: `svc file read ${secret}` } },
    ]
    mock.conversation({ prompt: 'attack by tools' }, [{ toolCalls: calls }, { text: 'nothing' }])
    const client = stage.daemon.client()
    const node = await client.nodes.create({ prompt: 'attack by tools', cwd: directory })
    await client.nodes.waitForOutcome(node.id)
    const data: { type: string }[] = []
    for await (const event of client.nodes.events(node.id).recorded()) data.push(event)
    const ended = data.filter(({ type }) => type === 'tool.ended')
    expect(ended).toHaveLength(calls.length)
    const text = JSON.stringify([data, mock.requests()])
    for (const value of stage.secretValues()) expect(text.includes(value)).toBe(false)
  })

  it('has changed nothing outside, and holds nothing that it may not know', async () => {
    expect(untouched()).toEqual(before)
    expect(existsSync('/usr/bin/svc-attack')).toBe(false)
    const held = [
      cwd,
      join(stage.work, 'loop'),
      join(stage.work, 'planner'),
      ...readdirSync(join(stage.dataDir, 'nodes'))
        .filter((id) => id !== stage.victim.id)
        .map((id) => join(stage.dataDir, 'nodes', id)),
    ]
    const files = Object.assign({}, ...held.map(contentOf)) as Record<string, string>
    for (const value of stage.secretValues()) {
      expect(Object.keys(files).filter((path) => files[path]?.includes(value))).toEqual([])
    }
  })

  it('has ended nothing and left nothing running; servers listen where it was not', async () => {
    expect(servers()).toEqual(pids)
    expect((await stage.daemon.client().nodes.retrieve(stage.victim.id)).status).toBe('active')
    expect(runningWith(stage.word)).toEqual([])
    for (const name of ['postgres', 'redis'] as const) {
      expect(listenersOf(stage.daemon.processes.find(name)?.pid as number)).toEqual([])
    }
  })
})
