import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { identify } from '#common/kernel/servers/process-identity.js'
import { MockModel } from '#common/testing/mock-model.js'
import { take, waitFor } from '#common/testing/wait-for.js'
import type { Client, Job, JobOutput } from '#sdk/index.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
let mock: MockModel
let client: Client
beforeAll(async () => {
  ;[daemon, mock] = await Promise.all([TestDaemon.start(), MockModel.start()])
  client = daemon.client()
  await daemon.useModel(mock)
})
afterAll(() => Promise.all([daemon.stop(), mock.stop()]))

const file = (name: string): string => join(daemon.workDir, name)
const appeared = (name: string): Promise<unknown> => waitFor(() => existsSync(file(name)), { what: name })

/** A resident that rests, once its model has answered. */
const resting = async (prompt: string): Promise<string> => {
  mock.conversation({ prompt }, [{ text: 'waiting' }])
  const { id } = await client.nodes.create({ prompt, cwd: daemon.workDir })
  await waitFor(async () => (await client.nodes.retrieve(id)).status === 'idle', { what: 'its rest' })
  return id
}

const start = (id: string, command: string): Promise<Job> =>
  client.request<Job>('POST', `/v1/nodes/${id}/jobs`, { command })

const read = async (job: Job): Promise<Job> => {
  const { data } = await client.nodes.jobs.list(job.node_id).page
  return data.find(({ id }) => id === job.id) as Job
}

const ended = (job: Job, timeout = 20_000): Promise<Job> =>
  waitFor(
    async () => {
      const now = await read(job)
      return now.status === 'running' ? null : now
    },
    { timeout, what: `the end of ${job.id}` },
  )

const output = (job: Job, offset = 0): Promise<JobOutput> =>
  client.request<JobOutput>('GET', `/v1/nodes/${job.node_id}/jobs/${job.id}/output?offset=${offset}`)

/** Processes of this machine with that word in their command line. */
const named = (word: string): number[] =>
  daemon.processes
    .all()
    .map(({ pid }) => pid)
    .filter((pid) => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word))

describe('a job', () => {
  it('is started, listed, read and canceled by the command', async () => {
    const id = await resting('work with the command')
    const started = await svc(daemon, ['node', 'job-start', id, '--', 'sh', '-c', 'echo "it is $0"; sleep 300', 'here'])
    expect(started.code).toBe(0)
    const jobId = started.stdout.trim()
    await waitFor(async () => (await output({ node_id: id, id: jobId } as Job)).size > 0, { what: 'its first line' })
    expect((await svc(daemon, ['node', 'job-output', id, jobId])).stdout).toBe('it is here\n')
    expect((await svc(daemon, ['node', 'jobs', id])).stdout).toMatch(new RegExp(`${jobId} +running`))
    const canceled = await svc(daemon, ['node', 'job-cancel', id, jobId])
    expect(canceled.stdout).toContain('is being ended')
    const followed = await svc(daemon, ['node', 'job-output', id, jobId, '--follow'])
    expect(followed.stderr).toContain(`${jobId} killed`)
  })

  it("wakes its node when it ends, and shows the node's watchers what it prints", async () => {
    mock.conversation({ prompt: 'start the build and rest' }, [
      {
        toolCalls: [
          {
            name: 'bash',
            input: { command: 'echo one; until [ -e go ]; do sleep 0.05; done; echo two; exit 4', background: true },
          },
        ],
      },
      { text: 'resting until it ends' },
    ])
    mock.conversation({ prompt: /ended with exit code 4/ }, [
      { text: 'x' },
      { text: 'x' },
      { text: 'I heard of the end' },
    ])
    const { id } = await client.nodes.create({ prompt: 'start the build and rest', cwd: daemon.workDir })
    const stream = client.nodes.stream(id, {}, { after: '0' })
    const seen = await take(stream, (item) => item.type === 'job.output' && String(item.data.text).includes('one'))
    expect(seen.at(-1)?.data).toMatchObject({ node_id: id, offset: 0 })
    await waitFor(async () => (await client.nodes.retrieve(id)).status === 'idle', {
      what: 'its rest',
    })
    const { data } = await client.nodes.jobs.list(id).page
    expect(data).toMatchObject([{ status: 'running' }])
    writeFileSync(file('go'), '')
    expect(await ended(data[0] as Job)).toMatchObject({ status: 'exited', exit_code: 4, output_bytes: 8 })
    const events = client.nodes.events(id)
    await take(
      events,
      ({ type, data: said }) => type === 'message.completed' && JSON.stringify(said).includes('I heard'),
    )
  })

  it('lives through the rest of its node, a new process of it, and a restart of every service', async () => {
    const id = await resting('keep a server')
    const job = await start(id, 'for n in $(seq 1 400); do echo $n; sleep 0.1; done')
    await waitFor(async () => (await output(job)).size > 5, { what: 'its first lines' })
    const host = daemon.processes.find('host')
    for (const broker of daemon.processes.brokers()) daemon.processes.kill(broker)
    mock.conversation({ prompt: 'is it still there' }, [{ text: 'x' }, { text: 'it is' }])
    await client.nodes.message(id, { body: 'is it still there' })
    await waitFor(async () => (await client.nodes.retrieve(id)).generation > 1, { what: 'its next process' })
    await waitFor(async () => (await client.nodes.retrieve(id)).status === 'idle', {
      what: 'its rest',
    })
    daemon.processes.kill('daemon')
    for (const name of ['nats', 'redis', 'postgres'] as const) daemon.processes.kill(name)
    await daemon.startAgain()
    expect(daemon.processes.find('host')).toEqual(host)
    const before = (await output(job)).size
    await waitFor(async () => (await output(job)).size > before, { what: 'more lines' })
    expect(await read(job)).toMatchObject({ status: 'running' })
    const lines = (await output(job)).content.trim().split('\n').map(Number)
    expect(lines).toEqual(lines.map((_, at) => at + 1))
    await client.nodes.jobs.cancel(id, job.id)
    expect(await ended(job)).toMatchObject({ status: 'killed' })
  })

  it('ends whole when it is canceled, with children that left it and ignore SIGTERM', async () => {
    const id = await resting('cancel a stubborn one')
    const job = await start(
      id,
      `setsid bash -c "trap '' TERM; touch stubborn; while :; do sleep 1; done; : svc-stubborn" & trap '' TERM; while :; do sleep 1; done; : svc-stubborn`,
    )
    await appeared('stubborn')
    expect(named('svc-stubborn').length).toBeGreaterThan(1)
    await client.nodes.jobs.cancel(id, job.id)
    expect(await ended(job)).toMatchObject({ status: 'killed' })
    expect(named('svc-stubborn')).toEqual([])
  })

  it('ends with its node when that is canceled', async () => {
    const id = await resting('be canceled with your jobs')
    const jobs = [await start(id, 'sleep 600; : svc-canceled'), await start(id, 'sleep 601; : svc-canceled')]
    await waitFor(() => named('svc-canceled').length >= 2, { what: 'both jobs' })
    await client.nodes.cancel(id)
    for (const job of jobs) expect(await ended(job)).toMatchObject({ status: 'killed', error: null })
    expect(named('svc-canceled')).toEqual([])
    expect(await client.nodes.retrieve(id)).toMatchObject({ status: 'canceled' })
    await expect(start(id, 'true')).rejects.toMatchObject({ code: 'illegal_transition' })
  })

  it('shows the beginning and the end of 50 MB, and the command says what is missing', async () => {
    const id = await resting('print much')
    const job = await start(id, 'seq -f "%015.0f" 1 3276800')
    expect(await ended(job, 60_000)).toMatchObject({ exit_code: 0, output_bytes: 52_428_800, truncated: true })
    const printed = await svc(daemon, ['node', 'job-output', id, job.id])
    expect(printed.stderr).toMatch(/bytes 1048576 to \d+ were not kept/)
    expect(printed.stdout.startsWith('000000000000001\n')).toBe(true)
    expect(printed.stdout.endsWith('000000003276800\n')).toBe(true)
    expect(printed.stdout.length).toBeGreaterThanOrEqual(8 * 1024 * 1024)
    expect((await svc(daemon, ['node', 'job-output', id, job.id, '--tail', '16'])).stdout).toBe('000000003276800\n')
  })

  it('answers a model that looks after it', async () => {
    const jobs = (input: Record<string, unknown>) => ({ toolCalls: [{ name: 'jobs', input }] })
    mock.conversation({ prompt: 'look after a job' }, [
      jobs({ action: 'list' }),
      jobs({ action: 'output', job_id: 'job_01jd0000000000000000000000' }),
      { toolCalls: [{ name: 'bash', input: { command: 'true', background: true, timeout: 3 } }] },
      { toolCalls: [{ name: 'report', input: { kind: 'final', body: 'looked' } }] },
    ])
    const { id } = await client.nodes.create({
      prompt: 'look after a job',
      cwd: daemon.workDir,
      lifecycle: 'terminal',
    })
    await client.nodes.waitForOutcome(id)
    const events = await client.nodes.events(id).recorded()
    const outputs = events.data.filter(({ type }) => type === 'tool.ended').map(({ data }) => String(data.output))
    expect(outputs[0]).toContain('"background": true')
    expect(outputs[1]).toContain('{"action":"list"}')
    expect(outputs[2]).toContain('has no "timeout"')
  })

  it('is lost when its host dies, and its processes are dead', async () => {
    const id = await resting('lose a host')
    const job = await start(
      id,
      `echo begun; setsid bash -c "trap '' TERM; echo \\$\\$ > survivor; while :; do sleep 1; done; : svc-survivor" & wait`,
    )
    await appeared('survivor')
    await waitFor(async () => (await output(job)).size > 0, { what: 'its first line' })
    daemon.processes.kill('host')
    expect(await ended(job)).toMatchObject({ status: 'lost', error: 'its host was restarted', exit_code: null })
    expect(named('svc-survivor')).toEqual([])
    expect(await output(job)).toMatchObject({ content: 'begun\n', running: false, next_offset: null })
    const events = await client.nodes.events(id).recorded()
    expect(events.data.filter(({ type }) => type === 'job.ended')).toHaveLength(1)
    await waitFor(() => identify(daemon.processes.find('host')?.pid ?? 0), { what: 'the next host' })
  })
})
