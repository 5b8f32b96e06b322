import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { isoTime, systemClock } from '#common/kernel/clock.js'
import { describeWithEngine } from '#common/testing/describe-with-engine.js'
import { take, waitFor } from '#common/testing/wait-for.js'
import { ComposeDaemon } from '../support/compose.js'
import { cleanEnvironment } from '../support/daemon.js'
import { Follower } from '../support/follower.js'

/** ms: the image is built first, which takes minutes on a machine that never did. */
const patience = 600_000

describeWithEngine('docker compose up --build --wait', () => {
  let daemon: ComposeDaemon

  beforeAll(async () => {
    daemon = await ComposeDaemon.prepare()
    const up = await daemon.compose('up', '--build', '--wait')
    if (up.code !== 0) {
      const { stdout } = await daemon.compose('logs', '--tail', '30')
      throw new Error(`docker compose up failed:\n${up.stderr.slice(-3000)}\n${stdout.slice(-6000)}`)
    }
    for (const name of ['a.ts', 'b.ts']) writeFileSync(join(daemon.workDir, name), '')
  }, patience)
  afterAll(() => daemon.stop(), patience)

  const program = (...argv: string[]) => ({
    prompt: 'go',
    cwd: daemon.workDir,
    engine: 'exec',
    lifecycle: 'terminal' as const,
    exec: { argv },
  })

  it('serves every part on the published port', async () => {
    const client = await daemon.client()

    const parts = await waitFor(
      async () => {
        const status = await client.system.status()
        return status.parts.every(({ name, state }) => state === 'ready' || name === 'models') && status.parts
      },
      { what: 'all parts' },
    )

    expect(parts.map(({ name }) => name).sort()).toEqual([
      'bus',
      'database',
      'gateway',
      'host',
      'lifecycle',
      'models',
      'objects',
      'redis',
      'scheduler',
    ])
  })

  it('runs a program over real files as a node', async () => {
    const client = await daemon.client()

    const outcome = await client.nodes.createAndWait(program('ls'))

    expect(outcome).toMatchObject({ status: 'done', final_report: { body: 'a.ts\nb.ts' } })
  })

  it('lets an agent count files with the shell and report', async () => {
    const client = await daemon.client()
    await daemon.startModel("find . -name '*.ts' | wc -l")
    await client.models.config.update({
      providers: { mock: { type: 'openai-compatible', base_url: 'http://mock:8080/v1' } },
      ladders: { medium: ['mock/m-1'] },
    })

    const outcome = await client.nodes.createAndWait({
      prompt: 'count the TypeScript files',
      cwd: daemon.workDir,
      lifecycle: 'terminal',
    })

    expect(outcome).toMatchObject({ status: 'done', final_report: { body: 'The shell says 2' } })
  })

  it('finishes a node over a kill of every service, and answers what was opened before', async () => {
    const client = await daemon.client()
    const { id, created_at: since } = await client.nodes.create(
      program('sh', '-c', 'echo begun; until [ -e end ]; do sleep 0.05; done; echo all the way'),
    )
    await take(client.nodes.events(id), ({ type }) => type === 'tool.started')
    const patient = { timeout: 300_000, maxRetries: 1000 }
    const isEnd = ({ type }: { type: string }): boolean => type === 'node.done'
    const opened = [
      client.nodes.waitForOutcome(id, patient),
      client.nodes.waitForStatus(id, ['done', 'dead'], patient),
      take(client.nodes.events(id, {}, { after: '0', maxRetries: 1000 }), isEnd, patient),
      take(client.canvas.events({ under: id, since }, { maxRetries: 1000 }), isEnd, patient),
      take(client.nodes.stream(id, {}, { after: '0', maxRetries: 1000 }), isEnd, patient),
    ] as const
    for (const one of opened) one.catch(() => undefined) // told where it is waited for
    const env = { ...cleanEnvironment(), SVC_TOKEN: await daemon.token() }
    const command = new Follower({ env, baseUrl: daemon.baseUrl, workDir: daemon.workDir }, ['node', 'watch', id])
    await command.shows('begun')

    for (const name of ['gateway', 'lifecycle', 'models', 'scheduler', 'objects', 'nats', 'postgres', 'redis']) {
      // The engine starts again what ends by itself, not what it was told to kill. Asked to end in the usual way, Postgres
      // waits for its clients, which come back meanwhile.
      await daemon.compose('exec', '-T', name, 'sh', '-c', name === 'postgres' ? 'kill -QUIT 1' : 'kill -9 -1; kill 1')
      await waitFor(async () => (await daemon.restarts(name)) > 0, { what: `a restart of ${name}`, timeout: 120_000 })
    }
    writeFileSync(join(daemon.workDir, 'end'), '')

    const [outcome, node, events, canvas, items] = await Promise.all(opened)
    expect(outcome).toMatchObject({ status: 'done', final_report: { body: 'begun\nall the way' } })
    expect(node).toMatchObject({ status: 'done', generation: 1 })
    const numbered = items.flatMap((item) => ('seq' in item ? [item as { seq: number }] : []))
    for (const seen of [events, canvas, numbered])
      expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, at) => at + 1))
    const code = await command.ends()
    expect(code === 0 ? '' : command.notes).toBe('')
    expect(command.text).toContain('all the way')
  })

  it('fires what was planned, by a node and by a command, over a kill of the scheduler', async () => {
    const client = await daemon.client()
    const at = isoTime(systemClock.now() + 3000)
    const { prompt: _, ...plain } = program('sh', '-c', 'echo by a node')
    const actions = [
      { type: 'create_node' as const, prompt: 'go', ...plain },
      { type: 'bash' as const, cwd: daemon.workDir, command: 'echo by a command' },
    ]
    const armed = await Promise.all(actions.map((action) => client.crons.create({ schedule: { at }, action })))
    const before = await daemon.restarts('scheduler')
    await daemon.compose('exec', '-T', 'scheduler', 'sh', '-c', 'kill -9 -1; kill 1')

    const ends = await Promise.all(
      armed.map(({ id }) =>
        waitFor(
          async () => {
            const { status, last_fire } = await client.crons.retrieve(id)
            return status === 'completed' && last_fire
          },
          { what: `the end of ${id}`, timeout: 120_000 },
        ),
      ),
    )

    expect(ends.map(({ slot, status }) => [slot, status])).toEqual(armed.map(() => [at, 'succeeded']))
    expect(ends[1]?.output).toBe('by a command\n')
    expect((await client.nodes.outcome(ends[0]?.node_id as string)).final_report?.body).toBe('by a node')
    expect(await daemon.restarts('scheduler')).toBeGreaterThan(before)
  })

  it('gives a consumer and a program each event of an object over a kill of what they pass through', async () => {
    const client = await daemon.client()
    const source = await client.customObjects.register({ name: 'build', catalog: [{ event: 'built' }] })
    const watches = [{ source: 'build' }]
    await client.customObjects.register({ name: 'consumer', watches, receiver: { type: 'queue' } })
    const argv = ['sh', '-c', 'cat >> received; echo >> received']
    await client.customObjects.register({
      name: 'program',
      watches,
      receiver: { type: 'argv', argv, cwd: daemon.workDir },
    })
    const builds = [1, 2, 3, 4]
    const stream = client.customObjects.receive('consumer', { maxRetries: 1000 })
    const consumed = take(stream, ({ seq }) => seq === builds.length, { timeout: 300_000 })
    consumed.catch(() => undefined) // told where it is waited for

    const publisher = await daemon.client(source.publish_token ?? undefined)
    for (const build of builds) {
      const published = { event: 'built', payload: { build }, dedupe_key: `build ${build}` }
      await publisher.customObjects.publish('build', published, { timeout: 120_000, maxRetries: 1000 })
      const name = ['objects', 'gateway', 'host'][build - 1]
      if (!name) continue
      const before = await daemon.restarts(name)
      await daemon.compose('exec', '-T', name, 'sh', '-c', 'kill -9 -1; kill 1')
      await waitFor(async () => (await daemon.restarts(name)) > before, {
        what: `a restart of ${name}`,
        timeout: 120_000,
      })
    }

    const inOrder = (await consumed).filter(({ seq }, at, all) => all.findIndex((one) => one.seq === seq) === at)
    expect(inOrder.map(({ payload }) => payload)).toEqual(builds.map((build) => ({ build })))
    const received = (): unknown[] =>
      readFileSync(join(daemon.workDir, 'received'), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).data.build)
    await waitFor(async () => (await client.customObjects.retrieve('program')).receiver_state?.pending === 0, {
      what: 'the program to have taken all',
      timeout: 120_000,
    })
    expect([...new Set(received())]).toEqual(builds)
  })

  it('lets each service into the database and onto the bus as itself, and lifecycle alone to the canvas', async () => {
    const look = `import pg from 'pg'
      import { readFileSync } from 'node:fs'
      const read = (name) => readFileSync('/secrets/' + name, 'utf8').trim()
      const client = new pg.Client(read('database_url'))
      await client.connect()
      const { rows } = await client.query("SELECT current_user AS role, has_schema_privilege('canvas', 'USAGE') AS canvas")
      await client.end()
      console.log(JSON.stringify({ ...rows[0], bus: new URL(read('nats_url')).username }))`
    for (const name of ['gateway', 'lifecycle', 'models', 'objects', 'scheduler']) {
      const { stdout } = await daemon.compose('exec', '-T', name, 'node', '--input-type=module', '--eval', look)
      expect(JSON.parse(stdout)).toEqual({ role: `svc_${name}`, canvas: name === 'lifecycle', bus: name })
    }
  })

  it('gives the containers of nodes no secret but the bus credential of the host', async () => {
    const { stdout } = await daemon.compose('exec', '-T', 'host', 'sh', '-c', 'ls /secrets; env')

    expect(stdout).toMatch(/^nats_url\n/)
    expect(stdout).not.toMatch(/DATABASE_URL|REDIS_URL|CREDENTIALS_KEY|NODE_TOKEN_KEY|SIGNING_KEY/)
  })

  it('gives each node an account of its own, which reads neither that credential nor another node', async () => {
    const client = await daemon.client()
    const { sandbox } = await client.system.status()
    expect(sandbox).toMatchObject([{ level: 'account' }])
    const tries = [
      'id -u',
      'cat /secrets/nats_url',
      'ls /data',
      'ls /data/nodes',
      'cat /data/accounts.json',
      'cat /proc/*/environ | tr "\\0" "\\n" | grep SVC_BROKER_MARK | sort -u | wc -l',
      'echo made > by-node && cat by-node',
      'svc --version',
      'echo home > ~/f && cat ~/f',
    ]
    const script = tries.map((command) => `${command} 2>/dev/null || echo refused`).join('\n')

    const outcomes = await Promise.all([
      client.nodes.createAndWait(program('sh', '-c', script)),
      client.nodes.createAndWait(program('id', '-u')),
    ])

    const [account, credential, data, nodes, accounts, , made, , home] = String(outcomes[0].final_report?.body).split(
      '\n',
    )
    expect(Number(account)).toBeGreaterThanOrEqual(200_000)
    expect(outcomes[1].final_report?.body).not.toBe(account)
    expect([credential, data, nodes, accounts]).toEqual(Array(4).fill('refused'))
    expect([made, home]).toEqual(['made', 'home'])
  })
})
