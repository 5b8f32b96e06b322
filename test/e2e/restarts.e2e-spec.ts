import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { MockModel } from '#common/testing/mock-model.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client, Job, Node } from '#sdk/index.js'
import { TestDaemon } from '../support/daemon.js'

const patience = { timeout: 60_000 }
const programs = 14
const agents = 6

let daemon: TestDaemon
let mock: MockModel
let client: Client
beforeAll(async () => {
  ;[daemon, mock] = await Promise.all([TestDaemon.start(), MockModel.start()])
  client = daemon.client({ timeout: 90_000, maxRetries: 200 })
  await daemon.useModel(mock)
})
afterAll(() => Promise.all([daemon.stop(), mock.stop()]))

/** Counts into a file until it is let go; a second run of it, or a cut one, is seen in the file. */
const counting = (name: string): string =>
  `echo begin >> ${name}; n=0; until [ -e go ]; do n=$((n+1)); echo $n >> ${name}; sleep 0.1; done; echo end >> ${name}`

interface Work {
  readonly directory: string
  readonly nodes: Node[]
  readonly jobs: Job[]
  /** Names of the files that are counted into. */
  readonly files: string[]
}

/** Twenty nodes at work on commands: programs, and agents with a shell; every second program with a job beside it. */
const startWork = async (name: string): Promise<Work> => {
  const directory = join(daemon.workDir, name)
  mkdirSync(directory)
  const plans = Array.from({ length: programs }, (_, at) => ({
    prompt: `${name} program ${at}`,
    cwd: directory,
    lifecycle: 'terminal' as const,
    engine: 'exec' as const,
    exec: { argv: ['sh', '-c', counting(`program-${at}`)] },
  }))
  const asked = Array.from({ length: agents }, (_, at) => {
    const prompt = `${name} agent <${at}>`
    mock.conversation({ prompt }, [
      { toolCalls: [{ name: 'bash', input: { command: counting(`agent-${at}`), timeout: 300 } }] },
      { toolCalls: [{ name: 'report', input: { kind: 'final', body: `${prompt} is done` } }] },
    ])
    return { prompt, cwd: directory, lifecycle: 'terminal' as const }
  })
  const nodes = await Promise.all([...plans, ...asked].map((body) => client.nodes.create(body)))
  const jobs = await Promise.all(
    nodes
      .slice(0, programs)
      .filter((_, at) => at % 2 === 0)
      .map(({ id }, at) => client.request<Job>('POST', `/v1/nodes/${id}/jobs`, { command: counting(`job-${at}`) })),
  )
  const files = [
    ...plans.map((_, at) => `program-${at}`),
    ...asked.map((_, at) => `agent-${at}`),
    ...jobs.map((_, at) => `job-${at}`),
  ].map((file) => join(directory, file))
  await waitFor(() => files.every(existsSync), { ...patience, what: 'all commands' })
  return { directory, nodes, jobs, files }
}

const lines = (file: string): string[] => readFileSync(file, 'utf8').trim().split('\n')

/** Every command goes on counting from here. */
const goesOn = async ({ files }: Work): Promise<void> => {
  const before = files.map((file) => lines(file).length)
  await waitFor(() => files.every((file, at) => lines(file).length > (before[at] as number) + 2), {
    ...patience,
    what: 'every command to go on',
  })
}

/** Begun once, counted without a gap, ended once. */
const expectWhole = (file: string): void => {
  const [first, ...rest] = lines(file)
  expect(first).toBe('begin')
  expect(rest.pop()).toBe('end')
  expect(rest).toEqual(rest.map((_, at) => String(at + 1)))
}

const jobOf = async ({ id, node_id }: Job): Promise<Job> =>
  (await client.nodes.jobs.list(node_id).page).data.find((job) => job.id === id) as Job

describe('twenty nodes that run commands and jobs', () => {
  it('notice nothing of a restart of every service', async () => {
    const work = await startWork('services')
    const host = daemon.processes.find('host')
    const stop = daemon.processes.find('daemon')
    process.kill(stop?.pid as number, 'SIGTERM')
    await daemon.startAgain()
    await goesOn(work)
    for (const name of ['nats', 'redis', 'postgres'] as const) {
      daemon.processes.kill(name)
      await waitFor(async () => (await client.system.status()).ready, { ...patience, what: `the daemon after ${name}` })
      await goesOn(work)
    }
    daemon.processes.kill('daemon')
    await daemon.startAgain()
    await goesOn(work)

    expect(daemon.processes.find('host')).toEqual(host)
    writeFileSync(join(work.directory, 'go'), '')
    const outcomes = await Promise.all(work.nodes.map(({ id }) => client.nodes.waitForOutcome(id)))
    expect(outcomes.map(({ status }) => status)).toEqual(work.nodes.map(() => 'done'))
    for (const job of work.jobs) {
      const ended = await waitFor(
        async () => {
          const now = await jobOf(job)
          return now.status === 'running' ? null : now
        },
        { ...patience, what: 'the end of a job' },
      )
      expect(ended).toMatchObject({ status: 'exited', exit_code: 0 })
    }
    for (const file of work.files) expectWhole(file)
    for (const { id } of work.nodes) expect((await client.nodes.retrieve(id)).generation).toBe(1)
  })

  it('are told what was cut off when their host was killed, and nothing is run again by itself', async () => {
    const work = await startWork('host')
    daemon.processes.kill('host')
    const outcomes = await Promise.all(work.nodes.map(({ id }) => client.nodes.waitForOutcome(id)))
    const [ran, asked] = [outcomes.slice(0, programs), outcomes.slice(programs)]
    for (const { status, error } of ran) {
      expect(status).toBe('dead')
      expect(error?.message).toMatch(/was lost while it ran/)
    }
    for (const { status } of asked) expect(status).toBe('done')
    for (const { id } of work.nodes) {
      const ended = (await client.nodes.events(id, { limit: 200 }).recorded().page).data.filter(
        ({ type }) => type === 'tool.ended',
      )
      expect(ended.map(({ data }) => data.status)).toContain('outcome_unknown')
    }
    for (const job of work.jobs) {
      const lost = await waitFor(
        async () => {
          const now = await jobOf(job)
          return now.status === 'running' ? null : now
        },
        { ...patience, what: 'the word of a lost job' },
      )
      expect(lost).toMatchObject({ status: 'lost', exit_code: null })
    }
    const before = work.files.map((file) => lines(file).length)
    await waitFor(async () => (await client.system.status()).ready, { ...patience, what: 'the next host' })
    expect(work.files.map((file) => lines(file).length)).toEqual(before)
    for (const file of work.files) expect(lines(file).filter((line) => line === 'begin')).toHaveLength(1)
  })
})
