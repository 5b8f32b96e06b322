import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { contract, type Job, type JobChunk } from '#common/contract/index.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { subjects } from '#common/kernel/subjects.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, nodeContext, ownerContext } from '../../../../test/support/lifecycle-service.js'
import { JobEndService } from './job-end.service.js'

let lifecycle: LifecycleUnderTest
/** What became of a job while no host had been heard. */
let unhosted: { refusal: unknown; jobs: readonly Job[] }
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start({ hosted: false })
  const { id } = await lifecycle.create()
  const refusal = await failure(start(id))
  unhosted = { refusal, jobs: (await lifecycle.call('nodes.jobs.list', { id, limit: 50 })).data }
  await lifecycle.host.join()
})
afterAll(() => lifecycle.stop())
afterEach(() => {
  lifecycle.host.onJob = () => undefined
  lifecycle.host.silent = false
})

const start = (id: string, command = 'npm test', ctx?: Context): Promise<Job> =>
  lifecycle.call('nodes.jobs.start', { id, command }, ctx)

/** A job that its host runs. */
const running = async (id: string, ctx?: Context): Promise<Job> => {
  const job = await start(id, 'npm test', ctx)
  await waitFor(() => lifecycle.host.jobs.has(job.id), { what: 'the job on its host' })
  return job
}

const ordersOf = (job: Job) => lifecycle.host.jobOrders.filter((order) => order.job_id === job.id)
const cancelsOf = (job: Job) => lifecycle.host.jobCancels.filter((id) => id === job.id)

const read = async (job: Job): Promise<Job> => {
  const page = await lifecycle.call('nodes.jobs.list', { id: job.node_id, limit: 200 })
  return page.data.find(({ id }) => id === job.id) as Job
}

const until = (job: Job, status: Job['status']): Promise<Job> =>
  waitFor(
    async () => {
      const now = await read(job)
      return now.status === status ? now : null
    },
    { what: `${job.id} to be ${status}` },
  )

const eventsOf = async (job: Job) =>
  (await lifecycle.recorded(job.node_id)).filter(({ type, data }) => type.startsWith('job.') && data.job_id === job.id)

const noticesOf = async (job: Job) =>
  (await lifecycle.recorded(job.node_id)).filter(
    ({ type, data }) => type === 'message.accepted' && String(data.body).includes(job.id),
  )

/** The engine that can be woken. */
const loop = { engine: 'loop', exec: undefined } as const

/** An agent that rests. */
const resting = async () => {
  const { node, broker, assignment } = await lifecycle.running(loop)
  await broker.turn(1, assignment.mail)
  await lifecycle.until(node.id, 'idle')
  return node
}

describe('starting a job', () => {
  it('records it, says so in an event, and has the host run it as the node', async () => {
    const { node } = await lifecycle.running({ scopes: ['svc:act', 'svc:llm', 'svc:files:read:user:/srv'] })
    const job = await running(node.id, nodeContext(node.id))
    expect(job).toMatchObject({ status: 'running', command: 'npm test', cwd: '/tmp', exit_code: null, ended_at: null })
    expect(await eventsOf(job)).toMatchObject([{ type: 'job.started', data: { command: 'npm test', cwd: '/tmp' } }])
    const [order] = ordersOf(job)
    expect(order).toMatchObject({ command: 'npm test', node_cwd: '/tmp', scopes: node.scopes, incarnation: 'first' })
    expect(lifecycle.tokenOf(order as never)).toEqual({ nodeId: node.id, generation: 1 })
  })

  it('tells the host of the nodes behind the making of its node', async () => {
    const maker = await lifecycle.create({ cwd: '/tmp/maker' })
    const node = await lifecycle.create({ cwd: '/tmp/maker/link' }, nodeContext(maker.id))
    const [order] = ordersOf(await running(node.id, nodeContext(maker.id)))
    expect(order?.makers).toEqual([{ node_id: maker.id, cwd: '/tmp/maker', scopes: maker.scopes }])
  })

  it('starts one job for one idempotency key', async () => {
    const node = await resting()
    const ctx = ownerContext({ idempotencyKey: newId('evt') })
    const [first, again] = await Promise.all([start(node.id, 'npm test', ctx), start(node.id, 'npm test', ctx)])
    expect(again).toEqual(first)
    await waitFor(() => ordersOf(first).length > 0, { what: 'its order' })
    const { data } = await lifecycle.call('nodes.jobs.list', { id: node.id, limit: 50 })
    expect(data).toHaveLength(1)
  })

  it('is refused for a canceled node, for a node of another tree, for too many, and without a host', async () => {
    const { node } = await lifecycle.running()
    const stranger = await lifecycle.create()
    expect(await failure(start(node.id, 'ls', nodeContext(stranger.id)))).toMatchObject({ code: 'not_found' })
    for (let count = 0; count < 16; count += 1) await start(node.id, `sleep ${count}`)
    expect(await failure(start(node.id))).toMatchObject({ code: 'quota_exceeded', fields: { limit: 'jobs_of_node' } })
    await lifecycle.call('nodes.cancel', { id: node.id })
    expect(await failure(start(node.id))).toMatchObject({ code: 'illegal_transition' })
    expect(unhosted).toMatchObject({ refusal: { code: 'service_unavailable' }, jobs: [] })
  })

  it('waits for the consent of the owner where its host has no sandbox', async () => {
    const { node } = await lifecycle.running()
    const held = lifecycle.host.sandbox
    lifecycle.host.sandbox = { level: 'none', detail: 'none works here' }
    await lifecycle.host.hello()
    try {
      expect(await failure(start(node.id))).toMatchObject({ code: 'sandbox_required' })
      expect((await lifecycle.call('nodes.jobs.list', { id: node.id, limit: 50 })).data).toEqual([])
    } finally {
      lifecycle.host.sandbox = held
      await lifecycle.host.hello()
    }
  })
})

describe('a job whose host was not told', () => {
  it('is asked for again at the next word of that host, also by the next writer', async () => {
    const node = await resting()
    lifecycle.host.onJob = () => {
      throw new SvcError('service_unavailable')
    }
    const job = await start(node.id)
    await waitFor(() => ordersOf(job).length > 0, { what: 'the order that failed' })
    await lifecycle.stopService()
    lifecycle.host.onJob = () => undefined
    await lifecycle.another()
    await waitFor(() => lifecycle.host.jobs.has(job.id), { what: 'the job on its host' })
    const told = ordersOf(job).length
    await lifecycle.host.hello()
    await lifecycle.host.hello()
    expect(ordersOf(job)).toHaveLength(told)
    expect(await read(job)).toMatchObject({ status: 'running' })
  })

  // It counted as running for ever, with a line in the log at each word of its host.
  it('ends with the reason when it may not be started any more', async () => {
    const node = await resting()
    lifecycle.host.onJob = () => {
      throw new SvcError('service_unavailable')
    }
    const job = await start(node.id)
    await waitFor(() => ordersOf(job).length > 0, { what: 'the order that failed' })
    const held = lifecycle.host.sandbox
    lifecycle.host.sandbox = { level: 'none', detail: 'none works here' }
    try {
      await lifecycle.host.hello()
      expect(await until(job, 'exited')).toMatchObject({ error: expect.stringContaining('sandbox_required') })
    } finally {
      lifecycle.host.sandbox = held
      await lifecycle.host.hello()
    }
  })

  it('is lost, and never asked for again, once the host was restarted', async () => {
    const node = await resting()
    lifecycle.host.onJob = () => {
      throw new SvcError('service_unavailable')
    }
    const job = await start(node.id)
    await waitFor(() => ordersOf(job).length > 0, { what: 'the order that failed' })
    const ran = await start(node.id, 'make')
    await waitFor(() => ordersOf(ran).length > 0, { what: 'the other order' })
    lifecycle.host.onJob = () => undefined
    lifecycle.host.incarnation = 'second'
    lifecycle.host.jobs.clear()
    expect(await until(job, 'lost')).toMatchObject({ error: expect.stringContaining('restarted'), exit_code: null })
    await until(ran, 'lost')
    expect([job, ran].filter(({ id }) => lifecycle.host.jobs.has(id))).toEqual([])
    expect(await eventsOf(job)).toMatchObject([
      { type: 'job.started' },
      { type: 'job.ended', data: { status: 'lost' } },
    ])
  })

  it('is not given up while the host still has its end to tell', async () => {
    const node = await resting()
    const job = await running(node.id)
    lifecycle.host.incarnation = 'third'
    lifecycle.host.jobs.clear()
    lifecycle.host.jobs.set(job.id, { job_id: job.id, running: false, scopes: [] })
    await lifecycle.host.hello()
    const other = await running(node.id)
    lifecycle.host.jobs.delete(other.id)
    lifecycle.host.incarnation = 'fourth'
    await until(other, 'lost')
    expect(await read(job)).toMatchObject({ status: 'running' })
    await lifecycle.host.endJob(job, { exit_code: 4 })
    expect(await read(job)).toMatchObject({ status: 'exited', exit_code: 4 })
  })
})

describe('the end of a job', () => {
  it('is recorded once, however often the host tells it, and wakes a node that rests', async () => {
    const node = await resting()
    const job = await running(node.id)
    await lifecycle.host.endJob(job, { exit_code: 1, tail: '2 failed', output_bytes: 8 })
    await lifecycle.host.endJob(job, { exit_code: 1 })
    expect(await read(job)).toMatchObject({ status: 'exited', exit_code: 1, output_bytes: 8, error: null })
    expect((await eventsOf(job)).map(({ type }) => type)).toEqual(['job.started', 'job.ended'])
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(assignment.mail).toMatchObject([
      {
        kind: 'notice',
        tier: 'normal',
        source: { kind: 'system' },
        body: expect.stringMatching(/exit code 1.*\n2 failed/),
      },
    ])
  })

  it('waits as mail for an agent at work', async () => {
    const { node, broker } = await lifecycle.running(loop)
    const job = await running(node.id)
    await lifecycle.host.endJob(job)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', generation: 1 })
    expect((await broker.claim()).mail.map(({ body }) => body).join()).toContain(job.id)
  })

  // A program whose job ended a moment before it was run a second time, by the notice that waited at its own end.
  it('never has the program of a node run again', async () => {
    const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'terminal' })
    const job = await running(node.id)
    await broker.call('nodes.mail.acknowledge', { ids: assignment.mail.map(({ id }) => id) })
    await lifecycle.host.endJob(job)
    await broker.turn(1, assignment.mail, { final: 'done' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'done', generation: 1 })
  })

  it('leaves a node alone that has ended, or that canceled the job itself', async () => {
    const { node, broker } = await lifecycle.running({ lifecycle: 'terminal' })
    const late = await running(node.id)
    const own = await running(node.id)
    await broker.call('nodes.jobs.cancel', { job_id: own.id })
    await lifecycle.host.endJob(own, { status: 'killed', signal: 'SIGTERM', exit_code: null })
    await broker.push('final', 'done')
    await lifecycle.host.endJob(late)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'done', generation: 1 })
    expect([...(await noticesOf(late)), ...(await noticesOf(own))]).toEqual([])
    expect([await read(late), await read(own)]).toMatchObject([{ status: 'exited' }, { status: 'killed' }])
  })

  // A stream that had said its end before it never showed what became of the job.
  it('is still to come for those who read the events of its node, when that has ended before', async () => {
    const { node, broker } = await lifecycle.running({ lifecycle: 'terminal' })
    const job = await running(node.id)
    await broker.push('final', 'done')
    const settled = async (tree: boolean) =>
      (await lifecycle.call('lifecycle.node.readEvents', { id: node.id, tree, after: 0, limit: 200 })).settled
    expect([await settled(false), await settled(true)]).toEqual([false, false])
    await lifecycle.host.endJob(job)
    expect([await settled(false), await settled(true)]).toEqual([true, true])
  })

  it('of a job that nobody knows, or of another host, changes nothing', async () => {
    const node = await resting()
    const job = await running(node.id)
    await lifecycle.host.endJob({ id: newId('job'), node_id: node.id })
    await lifecycle.host.endJob({ id: job.id, node_id: newId('node') })
    const end = { job_id: job.id, node_id: node.id, status: 'exited', exit_code: 0, signal: null } as const
    const more = { ended_at: job.started_at, output_bytes: 0, truncated: false, error: null, tail: '' }
    await lifecycle.service.app.get(JobEndService).ended('elsewhere', { ...end, ...more })
    expect(await read(job)).toMatchObject({ status: 'running' })
  })
})

describe('canceling', () => {
  it('asks the host until it says that nothing is left', async () => {
    const node = await resting()
    const job = await running(node.id)
    lifecycle.host.onJob = () => {
      throw new SvcError('service_unavailable')
    }
    expect(await lifecycle.call('nodes.jobs.cancel', { id: node.id, job_id: job.id })).toMatchObject({
      status: 'running',
    })
    await waitFor(() => cancelsOf(job).length >= 2, { what: 'the request again, at the next hello' })
    await lifecycle.host.endJob(job, { status: 'killed', exit_code: null, signal: 'SIGKILL' })
    expect(await lifecycle.call('nodes.jobs.cancel', { id: node.id, job_id: job.id })).toMatchObject({
      status: 'killed',
      signal: 'SIGKILL',
    })
    expect(await noticesOf(job)).toHaveLength(1)
  })

  it('keeps a job from starting that its host was not told of', async () => {
    const node = await resting()
    lifecycle.host.onJob = () => {
      throw new SvcError('service_unavailable')
    }
    const job = await start(node.id)
    await waitFor(() => ordersOf(job).length > 0, { what: 'the order that failed' })
    await lifecycle.call('nodes.jobs.cancel', { id: node.id, job_id: job.id })
    const told = ordersOf(job).length
    lifecycle.host.onJob = () => undefined
    await waitFor(() => cancelsOf(job).length >= 2, { what: 'the request again, at the next hello' })
    expect(ordersOf(job)).toHaveLength(told)
    await lifecycle.host.endJob(job, { status: 'killed', exit_code: null })
    expect(await read(job)).toMatchObject({ status: 'killed' })
  })

  it('a node ends its jobs, also when the host could not be told at once', async () => {
    const { node } = await lifecycle.running()
    const job = await running(node.id)
    lifecycle.host.onJob = () => {
      throw new SvcError('service_unavailable')
    }
    await lifecycle.call('nodes.cancel', { id: node.id })
    await waitFor(() => cancelsOf(job).length >= 2, { what: 'the request again, at the next hello' })
    await lifecycle.host.endJob(job, { status: 'killed', exit_code: null })
    expect(await read(job)).toMatchObject({ status: 'killed' })
    expect(await noticesOf(job)).toEqual([])
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'canceled' })
  })

  it('reaches only jobs of the node that is named', async () => {
    const [node, other] = [await resting(), await resting()]
    const job = await running(node.id)
    const wrong = lifecycle.call('nodes.jobs.cancel', { id: other.id, job_id: job.id })
    expect(await failure(wrong)).toMatchObject({ code: 'not_found', fields: { resource: 'job' } })
    const foreign = lifecycle.call('nodes.jobs.cancel', { id: node.id, job_id: job.id }, nodeContext(other.id))
    expect(await failure(foreign)).toMatchObject({ code: 'not_found' })
  })
})

describe('reading', () => {
  it('lists by pages, newest first, and by status', async () => {
    const node = await resting()
    const jobs: Job[] = []
    for (let count = 0; count < 3; count += 1) jobs.push(await running(node.id))
    await lifecycle.host.endJob(jobs[0] as Job)
    const first = await lifecycle.call('nodes.jobs.list', { id: node.id, limit: 2 })
    const rest = await lifecycle.call('nodes.jobs.list', { id: node.id, limit: 2, after: first.next_cursor })
    expect([...first.data, ...rest.data].map(({ id }) => id)).toEqual(jobs.map(({ id }) => id).reverse())
    const ended = await lifecycle.call('nodes.jobs.list', { id: node.id, limit: 2, status: 'exited' })
    expect(ended.data.map(({ id }) => id)).toEqual([jobs[0]?.id])
  })

  it('hands on what the host has of an output, and says when that is nothing any more', async () => {
    const node = await resting()
    const job = await running(node.id)
    const page = { id: node.id, job_id: job.id, offset: 0, limit: 1000 }
    expect(await lifecycle.call('nodes.jobs.output', page)).toMatchObject({
      content: 'so far',
      next_offset: 6,
      running: true,
    })
    await lifecycle.host.endJob(job)
    expect(await lifecycle.call('nodes.jobs.output', page)).toMatchObject({
      content: '',
      next_offset: null,
      size: 6,
      omitted: { from: 0, to: 6 },
      running: false,
    })
  })

  it('publishes what comes to those who watch the node', async () => {
    const node = await resting()
    const job = await running(node.id)
    const heard: { jobs?: JobChunk[]; root_id: string }[] = []
    lifecycle.gateway.bus.subscribe<{ jobs?: JobChunk[]; root_id: string }>(subjects.nodeLive(node.id), ({ payload }) =>
      heard.push(payload),
    )
    await lifecycle.gateway.bus.settled()
    const chunk = { job_id: job.id, offset: 3, text: 'ok\n' }
    await lifecycle.host.peer.bus.call(contract['lifecycle.host.jobOutput'], systemContext('host'), {
      host_id: lifecycle.host.hostId,
      chunks: [
        { ...chunk, node_id: node.id },
        { ...chunk, node_id: newId('node') },
      ],
    })
    await waitFor(() => heard.length > 0, { what: 'the output' })
    expect(heard).toMatchObject([{ root_id: node.id, jobs: [chunk] }])
  })
})
