import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveTasks } from './worker.js'

/** The plainest server there is: answers every request with the same bytes. */
const tasks = {
  serve: async ({ body }: { body: string }): Promise<string> => {
    const bytes = Buffer.from(body)
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length }).end(bytes)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  },
}
export type BareTasks = typeof tasks
serveTasks(tasks)
