import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Job } from '#common/contract/index.js'
import { Writer } from '#common/kernel/database/writer.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, ownerContext } from '../../../../test/support/lifecycle-service.js'
import { Housekeeping } from '../housekeeping.js'
import { JobEndService } from './job-end.service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

/** A job that its host runs. */
const running = async (id: string): Promise<Job> => {
  const job = await lifecycle.call('nodes.jobs.start', { id, command: 'npm test' })
  await waitFor(() => lifecycle.host.jobs.has(job.id), { what: 'the job on its host' })
  return job
}

const cancelsOf = (job: Job) => lifecycle.host.jobCancels.filter((id) => id === job.id)

const read = async (job: Job): Promise<Job> => {
  const page = await lifecycle.call('nodes.jobs.list', { id: job.node_id, limit: 200 })
  return page.data.find(({ id }) => id === job.id) as Job
}

/** An agent that rests. */
const resting = async () => {
  const { node, broker, assignment } = await lifecycle.running({ engine: 'loop', exec: undefined })
  await broker.turn(1, assignment.mail)
  await lifecycle.until(node.id, 'idle')
  return node
}

describe('a job of a host that is not heard', () => {
  const sql = (text: string, values: unknown[]) =>
    lifecycle.service.app.get(Writer).transact(ownerContext(), async ({ tx }) => tx.send(text, values))
  /** A job of a machine that was taken away. */
  const stranded = async (): Promise<Job> => {
    const job = await running((await resting()).id)
    await sql("UPDATE canvas.jobs SET host_id = 'gone' WHERE id = $1", [job.id])
    return job
  }

  it('counts as running, and says that nobody can tell', async () => {
    const job = await stranded()
    const said = await waitFor(async () => (await read(job)).error, { what: 'word of the silence' })
    expect(said).toContain('gone is not heard')
    expect(await read(job)).toMatchObject({ status: 'running', ended_at: null })
  })

  // It kept its node's worktree from being closed, and its share of jobs, for ever.
  it('is given up once it was canceled long ago, and only then', async () => {
    const [job, kept] = [await stranded(), await stranded()]
    await lifecycle.call('nodes.jobs.cancel', { id: job.node_id, job_id: job.id })
    const ends = lifecycle.service.app.get(JobEndService)
    expect(await ends.giveUp()).toBe(0)
    await waitFor(async () => (await ends.giveUp(100)) > 0, { what: 'its end' })
    expect(await read(job)).toMatchObject({ status: 'lost', error: expect.stringContaining('not heard since') })
    expect(await read(kept)).toMatchObject({ status: 'running' })
  })

  it('is ended by the host that comes back and has it still', async () => {
    const job = await running((await resting()).id)
    await sql("UPDATE canvas.jobs SET status = 'lost', ended_at = now() WHERE id = $1", [job.id])
    await lifecycle.host.hello()
    await waitFor(() => cancelsOf(job).length > 0, { what: 'the request to end it' })
  })
})

describe('an ended job', () => {
  it('is forgotten when its output is', async () => {
    const node = await resting()
    const [old, young] = [await running(node.id), await running(node.id)]
    for (const job of [old, young]) await lifecycle.host.endJob(job)
    const { app } = lifecycle.service
    const age = "UPDATE canvas.jobs SET ended_at = now() - interval '15 days' WHERE id = $1"
    await app.get(Writer).transact(ownerContext(), async ({ tx }) => tx.send(age, [old.id]))
    await app.get(Housekeeping).round()
    const { data } = await lifecycle.call('nodes.jobs.list', { id: node.id, limit: 50 })
    expect(data.map(({ id }) => id)).toEqual([young.id])
  })
})
