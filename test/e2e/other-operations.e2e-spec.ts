import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Answer } from '../../apps/gateway/src/testing/gateway.fixture.js'
import { humanRequestMachine } from '../../apps/lifecycle/src/human/human-request.machine.js'
import { jobMachine } from '../../apps/lifecycle/src/job/job.machine.js'
import { worktreeMachine } from '../../apps/lifecycle/src/worktree/worktree.machine.js'
import type { HumanRequestStatus, Job, OperationName, WorktreeState } from '../../libs/common/src/contract/index.js'
import { isoTime, systemClock } from '../../libs/common/src/kernel/clock.js'
import { waitFor } from '../../libs/common/src/testing/wait-for.js'
import { Edge } from '../support/edge.js'
import { NodeStage } from '../support/node-stage.js'
import { PlayedGit } from '../support/played-git.js'

const git = new PlayedGit()
let edge: Edge
let stage: NodeStage
let asker: string

beforeAll(async () => {
  edge = await Edge.start({ SVC_BOOT_GRACE_MS: 600_000 }, ({ host, dataDir }) => git.serveAt(host, dataDir))
  stage = new NodeStage(edge)
  asker = (await stage.bring('idle')).id
})
afterAll(async () => {
  git.letGo()
  await edge?.stop()
})

const page = { id: 'way', kind: 'decision', title: 'Which way?', options: [{ id: 'a', label: 'Left' }] }
const deck = { kind: 'deck', title: 'A way', pages: [page] }

describe('a request to a person', () => {
  const bodies = {
    respond: { response: [{ id: 'way', selectedOptionId: 'a' }] },
    dismiss: { reason: 'not mine' },
    cancel: { reason: 'found out' },
    replace: { title: 'Another way', pages: [page] },
  } as const
  type Act = keyof typeof bodies
  const acts = Object.keys(bodies) as Act[]

  const act = (event: Act, id: string): Promise<Answer> =>
    edge.ask({ operation: `human.requests.${event}`, at: { id }, body: bodies[event] })
  const read = async (id: string) => (await edge.ask({ operation: 'human.requests.retrieve', at: { id } })).body
  const brought: Record<HumanRequestStatus, (id: string) => Promise<unknown>> = {
    pending: async () => undefined,
    answered: (id) => act('respond', id),
    dismissed: (id) => act('dismiss', id),
    canceled: (id) => act('cancel', id),
    expired: async () => undefined,
  }
  const bring = async (status: HumanRequestStatus): Promise<string> => {
    const deadline = status === 'expired' ? { deadline: isoTime(systemClock.now() + 1000) } : {}
    const body = { ...deck, ...deadline, node_id: asker }
    const { id } = (await edge.ask({ operation: 'human.requests.create', body })).body
    await brought[status](id)
    await waitFor(async () => (await read(id)).status === status, { what: `a request that is ${status}` })
    return id
  }

  it('is moved by an operation for each event but the one of the clock', () => {
    expect([...acts, 'expire'].sort()).toEqual([...humanRequestMachine.events].sort())
  })

  for (const status of humanRequestMachine.states) {
    for (const event of acts) {
      const target = humanRequestMachine.next(status, event)
      if (target) {
        it(`that is ${status} takes ${event}, and is ${target}`, async () => {
          const id = await bring(status)
          expect((await act(event, id)).body).toMatchObject({ id, status: target })
          expect(await read(id)).toMatchObject({ status: target, version: 2 })
        })
      } else {
        it(`that is ${status} refuses ${event}, says how it ended, and stays as it is`, async () => {
          const id = await bring(status)
          const [before, mail] = [await read(id), (await edge.trace(asker)).counts.mail]
          const refusal =
            status === 'expired'
              ? { status: 410, code: 'request_expired' }
              : { status: 409, code: 'already_resolved', state: status }
          expect((await act(event, id)).body).toMatchObject(refusal)
          expect([await read(id), (await edge.trace(asker)).counts.mail]).toEqual([before, mail])
        })
      }
    }
  }
})

describe('a job', () => {
  const read = async ({ id, node_id }: Job): Promise<Job> => {
    const { body } = await edge.ask({ operation: 'nodes.jobs.list', at: { id: node_id } })
    return body.data.find((job: Job) => job.id === id)
  }
  const bring = async (status: Job['status']): Promise<Job> => {
    const body = { command: 'make' }
    const job: Job = (await edge.ask({ operation: 'nodes.jobs.start', at: { id: asker }, body })).body
    await waitFor(() => edge.lifecycle.host.jobs.has(job.id), { what: 'the start of the job' })
    if (status !== 'running') await edge.lifecycle.host.endJob(job, { status })
    return job
  }

  for (const status of jobMachine.states) {
    it(`that is ${status} takes a cancel, ${status === 'running' ? 'and its host is told' : 'and stays as it is'}`, async () => {
      const job = await bring(status)
      const before = await read(job)
      const answer = await edge.ask({ operation: 'nodes.jobs.cancel', at: { id: asker, job_id: job.id } })
      expect([answer.status, answer.body.status]).toEqual([200, status])
      expect(await read(job)).toEqual(before)
      if (status === 'running') await waitFor(() => edge.lifecycle.host.jobCancels.includes(job.id))
    })

    for (const event of jobMachine.events) {
      const target = jobMachine.next(status, event)
      const said = jobMachine.next('running', event) as 'exited' | 'killed' | 'lost'
      it(`that is ${status} is ${target ?? 'that still'} when its host says ${said}`, async () => {
        const job = await bring(status)
        await edge.lifecycle.host.endJob(job, { status: said })
        expect(await read(job)).toMatchObject({ status: target ?? status })
      })
    }
  }
})

describe('the worktree of a node', () => {
  const ends = ['close', 'abandon'] as const
  const end = (event: (typeof ends)[number], id: string): Promise<Answer> =>
    edge.ask({
      operation: `nodes.worktree.${event}` as OperationName,
      at: { id },
      ...(event === 'close' && { body: {} }),
    })
  const stateOf = async (id: string) => (await edge.lifecycle.retrieve(id)).worktree?.state
  const until = (id: string, state: WorktreeState) =>
    waitFor(async () => (await stateOf(id)) === state, { what: `a worktree that is ${state}` })

  /** Of a node that is not at work, since a tree in use is refused as busy. */
  const bring = async (state: WorktreeState): Promise<string> => {
    if (state === 'creating') {
      git.hold('create')
      const body = { prompt: 'do it', cwd: '/tmp', worktree: {} }
      const { id } = (await edge.ask({ operation: 'nodes.create', body })).body
      await edge.ask({ operation: 'nodes.cancel', at: { id } })
      return id
    }
    const { id } = await stage.bring('idle', { worktree: {} })
    if (state === 'open') return id
    if (state.endsWith('ing')) git.hold('remove')
    void end(state.startsWith('clos') ? 'close' : 'abandon', id)
    await until(id, state)
    return id
  }

  for (const state of worktreeMachine.states) {
    for (const event of ends) {
      const target = worktreeMachine.next(state, event)
      if (target) {
        it(`that is ${state} takes ${event}, is ${target} and ends so`, async () => {
          const id = await bring(state)
          git.hold('remove')
          const answer = end(event, id)
          await until(id, target)
          git.letGo()
          expect((await answer).status).toBe(200)
          await until(id, worktreeMachine.next(target, event === 'close' ? 'closed' : 'abandoned') as WorktreeState)
        })
      } else {
        it(`that is ${state} refuses ${event}, names both, and stays as it is`, async () => {
          const id = await bring(state)
          const before = await edge.trace(id)
          expect((await end(event, id)).body).toMatchObject({ code: 'illegal_transition', state, event })
          expect(await edge.trace(id)).toEqual(before)
          git.letGo()
        })
      }
    }
  }
})
