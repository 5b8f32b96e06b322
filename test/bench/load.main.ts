import { Client } from '#sdk/index.js'
import { ask, open, textOf, type Wire } from './load.http.js'
import { watchMessages } from './load.watch.js'
import { measure } from './stats.js'
import { serveTasks } from './worker.js'

interface Load {
  readonly wire: Wire
  readonly count: number
  readonly width: number
}

const now = (): number => performance.timeOrigin + performance.now()

const workOf = (prompt: string, cwd: string) => ({ prompt, cwd, lifecycle: 'terminal' as const })

/** Creates a node and waits for its outcome. Answers when the creation was sent. */
const run = async (wire: Wire, prompt: string, cwd: string): Promise<number> => {
  const at = now()
  const { id } = JSON.parse(await ask(wire, 'POST', '/v1/nodes', workOf(prompt, cwd))) as { id: string }
  const outcome = JSON.parse(await ask(wire, 'GET', `/v1/nodes/${id}/outcome?wait=30`)) as { status: string }
  if (outcome.status !== 'done') throw new Error(`a run ended as ${JSON.stringify(outcome)}`)
  return at
}

/** The load generator: everything that asks the daemon, in a process of its own. */
const tasks = {
  get: ({ wire, count, width, path }: Load & { path: string }) => measure(count, width, () => ask(wire, 'GET', path)),
  runs: ({ wire, count, width, prompt, cwd }: Load & { prompt: string; cwd: string }) =>
    measure(count, width, () => run(wire, prompt, cwd)),
  post: ({ wire, count, width, path, body }: Load & { path: string; body: unknown }) =>
    measure(count, width, () => ask(wire, 'POST', path, body)),
  /** The same with one body after the other. */
  postEach: ({ wire, count, width, path, bodies }: Load & { path: string; bodies: readonly unknown[] }) => {
    let next = 0
    return measure(count, width, () => {
      next += 1
      return ask(wire, 'POST', path, bodies[next % bodies.length])
    })
  },
  /** A file of this many bytes, written as a whole each time. */
  write: ({ wire, count, width, path, bytes }: Load & { path: string; bytes: number }) => {
    const body = { path, content: 'a'.repeat(bytes) }
    return measure(count, width, () => ask(wire, 'POST', '/v1/files/write', body))
  },
  /** A directory by all its pages, in one go. */
  wholeList: async ({ wire, path }: { wire: Wire; path: string }) => {
    const began = performance.now()
    let entries = 0
    let after = ''
    do {
      const page = JSON.parse(await ask(wire, 'GET', `/v1/files/list?path=${encodeURIComponent(path)}${after}`)) as {
        data: unknown[]
        next_cursor: string | null
      }
      entries += page.data.length
      after = page.next_cursor === null ? '' : `&after=${encodeURIComponent(page.next_cursor)}`
    } while (after)
    return { entries, ms: performance.now() - began }
  },
  /** One after the other; wall-clock ms at which each was sent. */
  sent: async ({ wire, count, prompt, cwd }: Omit<Load, 'width'> & { prompt: string; cwd: string }) => {
    const sent: number[] = []
    for (let at = 0; at < count; at += 1) sent.push(await run(wire, prompt, cwd))
    return sent
  },
  /** The same run through the SDK. */
  sdkRuns: ({ wire, count, width, prompt, cwd }: Load & { prompt: string; cwd: string }) => {
    const client = new Client({ baseUrl: wire.url, ...(wire.token && { token: wire.token }) })
    return measure(count, width, () => client.nodes.createAndWait(workOf(prompt, cwd)))
  },
  /** One streamed call of the model provider itself. */
  chat: ({ wire, count, width }: Load) => {
    const body = { model: 'm-1', stream: true, messages: [{ role: 'user', content: 'What is two and two?' }] }
    return measure(count, width, async () => textOf(await open(wire, 'POST', '/chat/completions', body)))
  },
  watch: watchMessages,
}
export type LoadTasks = typeof tasks
serveTasks(tasks)
