import type { Command } from 'commander'
import type { Client, HumanRequest } from '#sdk/index.js'
import type { Needs } from '../../access/needs.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

interface End {
  readonly calls: NonNullable<Needs['calls']>
  readonly summary: string
  readonly end: (svc: Client, id: string, body: { reason?: string }) => Promise<HumanRequest>
}

const register = (human: Command, shell: Shell, name: string, { calls, summary, end }: End): void => {
  const made = command(human, `${name} <id>`, { calls, summary }).option(
    '--reason <text>',
    'why, for the one who asked',
  )
  performs<{ reason?: string }>(made, shell, async ({ client, out, json, options }, id = '') => {
    const request = await end(await client(), id, options.reason === undefined ? {} : { reason: options.reason })
    if (json) out.json(request)
    else out.line(`${request.id}  ${request.status}`)
  })
}

export const registerDismiss = (human: Command, shell: Shell): void =>
  register(human, shell, 'dismiss', {
    calls: ['human.requests.dismiss'],
    summary: 'Decline to answer; the one who asked hears it',
    end: (svc, id, body) => svc.human.requests.dismiss(id, body),
  })

export const registerCancel = (human: Command, shell: Shell): void =>
  register(human, shell, 'cancel', {
    calls: ['human.requests.cancel'],
    summary: 'Withdraw a question',
    end: (svc, id, body) => svc.human.requests.cancel(id, body),
  })
