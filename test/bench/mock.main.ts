import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { MockModel } from '#common/testing/mock-model.js'
import { serveTasks } from './worker.js'

/** The model provider: a third-party server in a process of its own, which notes when each call reaches it. */
const mock = await MockModel.start()
mock.conversation({ prompt: 'a shell' }, [
  { toolCalls: [{ name: 'bash', input: { command: 'true' } }] },
  { toolCalls: [{ name: 'report', input: { kind: 'final', body: 'done' } }] },
])
mock.always({ text: 'The answer is four.', usage: { input: 100, output: 6 } })

/** Wall-clock ms of each call, with fractions. */
let arrivals: number[] = []
subscribe('http.server.request.start', (message) => {
  const { request } = message as { request: IncomingMessage }
  if (request.url?.endsWith('/chat/completions')) arrivals.push(performance.timeOrigin + performance.now())
})

const tasks = {
  baseUrl: (_: null) => mock.baseUrl('openai-compatible'),
  /** Calls since the last time that this was asked. */
  arrivals: (_: null) => {
    const seen = arrivals
    arrivals = []
    return seen
  },
}
export type MockTasks = typeof tasks
serveTasks(tasks)
