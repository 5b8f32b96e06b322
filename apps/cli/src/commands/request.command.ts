import type { Command } from 'commander'
import type { Method } from '#sdk/index.js'
import { UsageError } from '../failure.js'
import { jsonOf } from '../input.js'
import { command, performs } from '../invocation.js'
import type { Shell } from '../shell.js'

const methods: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

export const registerRequest = (program: Command, shell: Shell): void => {
  const made = command(program, 'request <method> <path> [body]', {
    gate: 'open',
    summary: 'Call any route of the daemon',
    about: 'The body is JSON: itself, @file, or - for standard input. The answer is printed as it came.',
    examples: [
      ['svc request GET /v1/status', 'any route, with your token'],
      [`svc request POST /v1/nodes '{"prompt": "…", "cwd": "/tmp"}'`, 'with a body'],
      ['svc request GET /v1/nodes/<id>/events --stream', 'server-sent events, one a line'],
    ],
  }).option('--stream', 'read server-sent events until they end')
  performs<{ stream?: boolean }>(made, shell, async ({ client, out, options }, verb = '', path = '', body) => {
    const method = verb.toUpperCase()
    if (!methods.includes(method)) throw new UsageError(`${verb} is no method`, `one of ${methods.join(', ')}`)
    const sent = body === undefined ? undefined : await jsonOf(body, 'the body')
    const svc = await client()
    if (options.stream) for await (const item of svc.stream(method as Method, path, sent)) out.record(item)
    else {
      const answer = await svc.request(method as Method, path, sent)
      if (answer !== undefined) out.json(answer)
    }
  })
}
