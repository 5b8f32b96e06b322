import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { contract, type InputOf } from '#common/contract/index.js'
import type { JobEnd } from '#common/contract/job.internal.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { systemContext } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { natsUrlAs } from '#common/testing/nats.js'
import { NatsProcess } from '#common/testing/nats-process.js'
import { waitFor } from '#common/testing/wait-for.js'
import { readProcesses } from '#machine/process/process-table.js'
import type { JobOrder } from './job.process.js'

const projectRoot = new URL('../../../..', import.meta.url).pathname
const ctx = systemContext('test')
const token = 'svc_node_0123456789_secret'

type Hello = InputOf<(typeof contract)['lifecycle.host.hello']>
type Chunk = InputOf<(typeof contract)['lifecycle.host.jobOutput']>['chunks'][number]

/** The host as it runs in production, and lifecycle as the test plays it. */
class JobHost {
  readonly hellos: Hello[] = []
  readonly ends: JobEnd[] = []
  readonly chunks: Chunk[] = []
  readonly dataDir = mkdtempSync(join(tmpdir(), 'svc-job-'))
  readonly workDir = realpathSync(mkdtempSync(join(tmpdir(), 'svc-job-work-')))
  /** Whether lifecycle takes ends. */
  takes = true
  child!: ChildProcess
  peer!: TestPeer

  constructor(
    private readonly natsUrl: string,
    private readonly extra: Record<string, string> = {},
  ) {}

  async start(): Promise<void> {
    this.peer ??= await joinBus(this.natsUrl, 'lifecycle', {
      operations: [
        contract['lifecycle.host.hello'],
        contract['lifecycle.host.jobEnded'],
        contract['lifecycle.host.jobOutput'],
      ],
      handlers: {
        'lifecycle.host.hello': async (_ctx, input) => {
          this.hellos.push(input as Hello)
          return { accepted: true, consent: false }
        },
        'lifecycle.host.jobEnded': async (_ctx, input) => {
          if (!this.takes) throw new SvcError('service_unavailable')
          this.ends.push((input as { end: JobEnd }).end)
          return { noted: true }
        },
        'lifecycle.host.jobOutput': async (_ctx, input) => {
          this.chunks.push(...(input as { chunks: Chunk[] }).chunks)
          return { noted: true }
        },
      },
    })
    const before = this.hellos.length
    this.child = spawn(process.execPath, [join(projectRoot, 'dist/apps/host/src/main.js')], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        NATS_URL: natsUrlAs(this.natsUrl, 'host'),
        SVC_DATA_DIR: this.dataDir,
        SVC_LOG_LEVEL: 'warn',
        SVC_BROKER_WARM: '0',
        ...this.extra,
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    await waitFor(() => this.hellos.length > before, { what: 'the first hello' })
  }

  get incarnation(): string {
    return this.hellos.at(-1)?.incarnation as string
  }

  order(command: string, more: Partial<JobOrder> = {}): JobOrder {
    return {
      job_id: newId('job'),
      node_id: newId('node'),
      incarnation: this.incarnation,
      command,
      cwd: this.workDir,
      node_cwd: this.workDir,
      git_dir: null,
      scopes: ['svc:act', 'svc:llm'],
      makers: [],
      consent: true,
      token,
      base_url: 'http://127.0.0.1:1',
      ...more,
    }
  }

  run(order: JobOrder) {
    return this.peer.bus.call(contract['host.job.start'], ctx, order, { target: 'local' })
  }

  cancel({ job_id, node_id }: JobOrder) {
    return this.peer.bus.call(contract['host.job.cancel'], ctx, { job_id, node_id }, { target: 'local' })
  }

  output({ job_id }: JobOrder, offset = 0, limit = 64 * 1024) {
    return this.peer.bus.call(contract['host.job.output'], ctx, { job_id, offset, limit }, { target: 'local' })
  }

  endOf({ job_id }: JobOrder, timeout = 15_000): Promise<JobEnd> {
    return waitFor(() => this.ends.find((end) => end.job_id === job_id) ?? null, { timeout, what: 'the end of a job' })
  }

  file(name: string): string {
    return join(this.workDir, name)
  }

  appeared(name: string): Promise<unknown> {
    return waitFor(() => existsSync(this.file(name)), { what: name })
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const gone = once(this.child, 'exit')
    this.child.kill(signal)
    await gone
  }

  async close(): Promise<void> {
    await this.stop('SIGTERM')
    await this.peer.close()
    for (const path of [this.dataDir, this.workDir]) rmSync(path, { recursive: true, force: true })
  }
}

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}
const named = (word: string): number[] =>
  readProcesses().flatMap(({ pid }) => (commandOf(pid).includes(word) ? [pid] : []))

describe('a job of the host', () => {
  let nats: NatsProcess
  let host: JobHost
  let words = 0
  /** An argument that finds one test's processes again. */
  const word = (): string => {
    words += 1
    return `svc-job-test-${process.pid}-${words}`
  }
  /** Leaves its session and its parent, and ignores SIGTERM. */
  const escapee = (mark: string): string =>
    `setsid bash -c "trap '' TERM; touch up; while :; do sleep 1; done; : ${mark}" </dev/null >/dev/null 2>&1 & sleep 300; : ${mark}`

  beforeAll(async () => {
    nats = await NatsProcess.start()
  })
  const begin = async (extra: Record<string, string> = {}): Promise<void> => {
    host = new JobHost(nats.url, extra)
    await host.start()
  }
  beforeEach(() => begin())
  afterEach(() => host.close())
  afterAll(() => nats.stop())

  it('runs once, however often it is ordered, and its end is told', async () => {
    const order = host.order('echo ran >> count; echo out; echo err >&2; until [ -e go ]; do sleep 0.02; done; exit 3')
    expect(await host.run(order)).toEqual({ state: 'started' })
    await host.appeared('count')
    expect(await host.run(order)).toEqual({ state: 'running' })
    const again = host.run({ ...order, command: 'touch go' })
    expect(await again).toEqual({ state: 'running' })
    await host.run(host.order('touch go'))
    const end = await host.endOf(order)
    expect(end).toMatchObject({ status: 'exited', exit_code: 3, signal: null, output_bytes: 8, truncated: false })
    expect(end.tail.split('\n').sort()).toEqual(['err', 'out'])
    expect(await host.run(order)).toEqual({ state: 'ended' })
    expect(readFileSync(host.file('count'), 'utf8')).toBe('ran\n')
  })

  it("is told of with the node's token taken out, also where it lives", async () => {
    const order = host.order('env; cat /proc/self/environ; echo "$SVC_NODE_ID"')
    await host.run(order)
    await host.endOf(order)
    const { content } = await host.output(order)
    expect(content).toContain(order.node_id)
    expect(content).toContain("SVC_TOKEN=[the node's token]")
    await waitFor(() => host.chunks.length > 0, { what: 'its live output' })
    expect(content + host.chunks.map(({ text }) => text).join('')).not.toContain(token)
  })

  it('says why when it could not be started', async () => {
    const order = host.order('true', { cwd: host.file('missing') })
    await host.run(order)
    expect(await host.endOf(order)).toMatchObject({
      status: 'exited',
      exit_code: null,
      error: expect.stringContaining('missing'),
    })
  })

  it('sees nothing that a node behind the making of its own does not, also before any process of that was here', async () => {
    const maker = { node_id: newId('node'), cwd: host.workDir, scopes: [] }
    symlinkSync('/var', host.file('link'))
    const order = host.order('touch /var/tmp/made', { node_cwd: host.file('link'), makers: [maker] })
    await host.run(order)
    expect((await host.endOf(order)).error).toMatch(/^path_outside_scope: .*doesn't see it/)
  })

  it('is refused when it was made for another start of the host', async () => {
    const order = host.order('touch ran', { incarnation: 'older' })
    expect(await failure(host.run(order))).toMatchObject({ code: 'stale_generation' })
    expect(await failure(host.output(order))).toMatchObject({ code: 'not_found' })
  })

  it('ends with all that it started when it is canceled, also what left it and ignores SIGTERM', async () => {
    const mark = word()
    const order = host.order(escapee(mark))
    await host.run(order)
    await host.appeared('up')
    expect(named(mark).length).toBeGreaterThan(0)
    expect(await host.cancel(order)).toEqual({ state: 'ending' })
    expect(await host.endOf(order)).toMatchObject({ status: 'killed' })
    expect(named(mark)).toEqual([])
  })

  it('does so, and is lost with its host, also where nothing holds it', async () => {
    await host.close()
    await begin({ SVC_SANDBOX: 'none' })
    const mark = word()
    const canceled = host.order(escapee(mark))
    await host.run(canceled)
    await host.appeared('up')
    await host.cancel(canceled)
    expect(await host.endOf(canceled)).toMatchObject({ status: 'killed' })
    expect(named(mark)).toEqual([])
    rmSync(host.file('up'))
    const lost = host.order(escapee(mark))
    await host.run(lost)
    await host.appeared('up')
    await host.stop('SIGKILL')
    expect(named(mark).length).toBeGreaterThan(0)
    await host.start()
    expect(named(mark)).toEqual([])
    expect(await host.endOf(lost)).toMatchObject({ status: 'lost' })
  })

  it('leaves nothing in the background when it ends by itself', async () => {
    const mark = word()
    const order = host.order(`setsid sleep 300 & bash -c "sleep 300; : ${mark}" & true`)
    await host.run(order)
    expect(await host.endOf(order)).toMatchObject({ status: 'exited', exit_code: 0 })
    expect(named(mark)).toEqual([])
  })

  it('that was canceled before it came never runs', async () => {
    const order = host.order('touch ran')
    expect(await host.cancel(order)).toEqual({ state: 'ended' })
    expect(await host.run(order)).toEqual({ state: 'ended' })
    expect(await host.endOf(order)).toMatchObject({ status: 'killed', output_bytes: 0 })
    expect(existsSync(host.file('ran'))).toBe(false)
  })

  it('is listed until its end was taken, also by the next start of a host that died', async () => {
    host.takes = false
    const order = host.order('echo done')
    await host.run(order)
    const listed = (running: boolean) =>
      host.hellos.at(-1)?.jobs.some((job) => job.job_id === order.job_id && job.running === running)
    await waitFor(() => listed(false), { what: 'the end in a hello' })
    await host.stop('SIGKILL')
    await host.start()
    expect(listed(false)).toBe(true)
    host.takes = true
    expect(await host.endOf(order)).toMatchObject({ status: 'exited', exit_code: 0, tail: 'done' })
    await waitFor(() => host.hellos.at(-1)?.jobs.length === 0, { what: 'a hello without it' })
    expect(host.ends).toHaveLength(1)
  })

  // Its end was dropped with an error in the log, and its node waited for it until the next start of the host.
  it('ends for its node although its files were removed meanwhile', async () => {
    const order = host.order('until [ -e go ]; do sleep 0.02; done; exit 3')
    await host.run(order)
    rmSync(join(host.dataDir, 'jobs', order.job_id), { recursive: true })
    await host.run(host.order('touch go'))
    expect(await host.endOf(order)).toMatchObject({ status: 'exited', exit_code: 3, tail: '' })
    await waitFor(() => host.hellos.at(-1)?.jobs.length === 0, { what: 'a hello without it' })
  })

  it('keeps no host from starting whose files can not be read', async () => {
    const order = host.order('touch up; sleep 300')
    await host.run(order)
    await host.appeared('up')
    await host.stop('SIGKILL')
    mkdirSync(join(host.dataDir, 'jobs', order.job_id, 'output.0000000'))
    await host.start()
    expect(await host.endOf(order)).toMatchObject({ status: 'lost', tail: '' })
  })

  it('is lost with a host that is killed, and its processes are dead before the next start says so', async () => {
    const mark = word()
    const order = host.order(`echo begun; ${escapee(mark)}`)
    await host.run(order)
    await host.appeared('up')
    await host.stop('SIGKILL')
    await host.start()
    expect(named(mark)).toEqual([])
    const end = await host.endOf(order)
    expect(end).toMatchObject({ status: 'lost', exit_code: null, tail: 'begun', error: 'its host was restarted' })
    expect(await host.run({ ...order, incarnation: host.incarnation })).toEqual({ state: 'ended' })
    expect((await host.output(order)).content).toBe('begun\n')
  })

  it('ends with a host that is stopped, which says so', async () => {
    const mark = word()
    const order = host.order(`echo begun > up; sleep 300; : ${mark}`)
    await host.run(order)
    await host.appeared('up')
    await host.stop('SIGTERM')
    expect(await host.endOf(order)).toMatchObject({ status: 'lost', error: 'its host was stopped' })
    expect(named(mark)).toEqual([])
  })

  it('keeps the beginning and the end of 50 MB, and says what is missing', async () => {
    const order = host.order('seq -f "%015.0f" 1 3276800')
    await host.run(order)
    const end = await host.endOf(order, 60_000)
    const size = 3_276_800 * 16
    expect(end).toMatchObject({ status: 'exited', exit_code: 0, output_bytes: size, truncated: true })
    const head = await host.output(order)
    expect(head).toMatchObject({ offset: 0, next_offset: 65_536, size, truncated: true })
    expect(head.content.startsWith('000000000000001\n')).toBe(true)
    const gap = head.omitted as { from: number; to: number }
    expect(gap.from).toBe(1024 * 1024)
    expect(size - gap.to).toBeGreaterThanOrEqual(7 * 1024 * 1024)
    const beyond = await host.output(order, gap.from - 16, 1000)
    expect(beyond).toMatchObject({ next_offset: gap.to })
    const later = await host.output(order, gap.from + 5, 32)
    expect(later).toMatchObject({ offset: gap.to, content: expect.stringMatching(/^\d{15}\n\d{15}\n$/) })
    expect(Number(later.content.slice(0, 15))).toBe(gap.to / 16 + 1)
    const last = await host.output(order, -16)
    expect(last).toMatchObject({ content: '000000003276800\n', offset: size - 16, next_offset: size })
  })

  it('is told of as it prints, by where it stands in the whole', async () => {
    const order = host.order('for n in 1 2 3; do echo "line $n ü"; sleep 0.2; done')
    await host.run(order)
    await host.endOf(order)
    await waitFor(
      () =>
        host.chunks
          .map(({ text }) => text)
          .join('')
          .includes('line 3'),
      { what: 'the last line' },
    )
    let at = 0
    for (const chunk of host.chunks) {
      expect(chunk).toMatchObject({ job_id: order.job_id, node_id: order.node_id, offset: at })
      at += Buffer.byteLength(chunk.text)
    }
    expect(host.chunks.length).toBeGreaterThan(1)
    expect((await host.output(order)).size).toBe(at)
  })
})
