import { type ConnectionOptions, Queue, Worker } from 'bullmq'
import { serveTasks } from './worker.js'

interface Timers {
  readonly connection: ConnectionOptions
  /** Jobs that wait for a time far away. */
  readonly armed: number
}

const bulk = 1000
const year = 365 * 86_400_000

/** Jobs in a queue of nothing else, by the calls that everybody uses. */
const filled = async (queue: Queue, count: number): Promise<void> => {
  for (let done = 0; done < count; done += bulk) {
    const jobs = Array.from({ length: Math.min(bulk, count - done) }, (_, at) => ({
      name: 'far',
      data: {},
      opts: { delay: year, jobId: `far-${done + at}`, removeOnComplete: true, removeOnFail: true },
    }))
    await queue.addBulk(jobs)
  }
}

/** BullMQ by itself on the daemon's own Redis: no daemon's timers could be better. */
const tasks = {
  /** ms that each of so many jobs, at a distance of `apart` ms, was late. */
  lateness: async ({
    connection,
    armed,
    count,
    apart,
  }: Timers & { count: number; apart: number }): Promise<number[]> => {
    const queue = new Queue('bench', { connection })
    await filled(queue, armed)
    const late: number[] = []
    let finish: () => void = () => undefined
    const finished = new Promise<void>((resolve) => {
      finish = resolve
    })
    const worker = new Worker(
      'bench',
      async ({ data }) => {
        late.push(Date.now() - (data as { due: number }).due)
        if (late.length === count) finish()
      },
      { connection, concurrency: 50 },
    )
    await worker.waitUntilReady()
    const first = Date.now() + 2000
    const jobs = Array.from({ length: count }, (_, at) => {
      const due = first + at * apart
      return { name: 'near', data: { due }, opts: { delay: due - Date.now(), removeOnComplete: true } }
    })
    await queue.addBulk(jobs)
    await finished
    await worker.close()
    await queue.obliterate({ force: true })
    await queue.close()
    return late
  },
  /** ms that it takes to add so many jobs. */
  fill: async ({ connection, armed }: Timers): Promise<number> => {
    const queue = new Queue('bench', { connection })
    const began = performance.now()
    await filled(queue, armed)
    const took = performance.now() - began
    await queue.close()
    return took
  },
}
export type TimerTasks = typeof tasks
serveTasks(tasks)
